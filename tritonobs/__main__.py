"""`python -m tritonobs` and the `tritonobs` command."""

import sys


def main() -> None:
    """Run the command line, or say which extra brings it."""
    try:
        from tritonobs.cli import run  # noqa: PLC0415 (the bare package has no click: the message below needs no import)
    except ModuleNotFoundError as missing:
        sys.exit(f"tritonobs: the command line needs {missing.name}: pip install 'tritonobs[cli]'")
    run()


if __name__ == "__main__":
    main()
