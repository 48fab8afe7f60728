"""What is wrong with rules, boards and autoscalers that people have for Triton.

`linter.lint_files` reads files, `catalogue` knows the series, `checks` judge expressions, `formats` writes
findings.
"""
