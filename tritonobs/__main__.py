"""`python -m tritonobs` and the `tritonobs` command."""

import sys

import tritonobs

_COULD_NOT, _INTERRUPTED = 3, 130


def main() -> None:
    """Run the command line, or say which extra brings it; `--version` works without any."""
    try:
        _run()
    except KeyboardInterrupt:
        # Before the command line could say so itself.
        sys.exit(_INTERRUPTED)


def _run() -> None:
    try:
        from tritonobs.cli import run  # noqa: PLC0415 (the bare package has no click)
    except ModuleNotFoundError as missing:
        if sys.argv[1:] == ["--version"]:
            from tritonobs.stage.cells import record_path  # noqa: PLC0415 (only this option needs it)

            sys.stdout.write(f"tritonobs, version {tritonobs.__version__}\nrecord path: {record_path()}\n")
            return
        sys.stderr.write(f"tritonobs: the command line needs {missing.name}: pip install 'tritonobs[cli]'\n")
        sys.exit(_COULD_NOT)
    run()


if __name__ == "__main__":
    main()
