"""Errors in existing rules, boards and autoscalers for Triton.

`linter.lint_files` reads files, `catalogue` knows the series, `checks` judge expressions, `formats` writes
findings.
"""
