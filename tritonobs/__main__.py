"""`python -m tritonobs` and the `tritonobs` command."""

import os
import sys

import tritonobs

_COULD_NOT, _INTERRUPTED = 3, 130


def main() -> None:
    """Run the command line, or say which extra brings it; `--version` works without any."""
    _open_closed()
    try:
        _run()
    except KeyboardInterrupt:
        # Before the command line could say so itself.
        sys.exit(_INTERRUPTED)


def _open_closed() -> None:
    """Replace closed standard streams: the next file opened would get their number.

    What is written to stdout fails as a write to a closed one does, and the command line says so.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # In ascending order, so that each gets the number that is free.
            found = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (open as long as the process)


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
