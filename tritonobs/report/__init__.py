"""Results as text for people and JSON for programs: results to stdout, progress to stderr."""

from tritonobs.report.console import print_link, print_table, print_text, progress_bar, table_text
from tritonobs.report.formats import json_text
from tritonobs.report.stages import stage_table, stages_table
from tritonobs.report.triage import links, print_verdict, questions, verdict_text

__all__ = [
    "json_text",
    "links",
    "print_link",
    "print_table",
    "print_text",
    "print_verdict",
    "progress_bar",
    "questions",
    "stage_table",
    "stages_table",
    "table_text",
    "verdict_text",
]
