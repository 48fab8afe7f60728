"""Results as text for people and JSON for programs: results to stdout, progress to stderr."""

from tritonobs.report.console import print_link, print_table, print_text, progress_bar, table_text
from tritonobs.report.formats import json_text
from tritonobs.report.stages import stage_table, stages_table

__all__ = [
    "json_text",
    "print_link",
    "print_table",
    "print_text",
    "progress_bar",
    "stage_table",
    "stages_table",
    "table_text",
]
