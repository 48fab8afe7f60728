"""Prints all text of the command line, without terminal control characters."""

from __future__ import annotations

from click import secho  # noqa: TID251 (this is the place it may be used)

from tritonobs.outside import shown_lines


def say(text: str, *, err: bool = False, nl: bool = True, bold: bool = False) -> None:
    """Print a text: results to stdout, all else (`err`) to stderr."""
    # click writes a code that ends bold for False, and none for None.
    try:
        secho(shown_lines(text), err=err, nl=nl, bold=bold or None)
    except BrokenPipeError:
        raise
    except OSError:
        # That stderr is full cannot be reported; the result is on stdout.
        if not err:
            raise
