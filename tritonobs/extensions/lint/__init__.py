"""Errors in existing rules, boards and autoscalers for Triton.

`linter.lint_files` reads files, `catalogue` knows the series, `checks` judge expressions, `formats` writes
findings.
"""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="errors in existing rules, boards and autoscalers for Triton",
    commands=(
        Command(
            under="Configure",
            name="lint",
            help="Find errors in rules, boards and autoscalers for Triton.",
            at="tritonobs.extensions.lint.commands:lint",
            order=25,
        ),
    ),
    extras={"lint": ("promql_parser",)},
)
