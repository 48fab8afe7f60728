"""The command line: options, one call, an exit code. The only place that imports click.

Exit codes: 0 nothing wrong, 1 findings, 2 wrong usage, 3 it could not be done (something is missing, does not
answer or cannot be written), 130 interrupted; 129, 141 and 143 ended by a signal, as a shell reports them.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

import click

import tritonobs
from tritonobs import undo
from tritonobs.cli.say import say
from tritonobs.errors import RenderFailed, SpecInvalid, TritonobsError
from tritonobs.registry import HEADINGS, Command, commands, extensions, resolved
from tritonobs.stage.cells import record_path

FOUND, USAGE, COULD_NOT_LOOK, INTERRUPTED = 1, 2, 3, 130

_HEART = tuple(
    Command(under=under, name=at.partition(":")[2], help=help_text, at=f"tritonobs.cli.{at}", order=order)
    for under, order, at, help_text in (
        ("Configure", 10, "offline:validate", "Check a fleet file and report every mistake."),
        (
            "Configure",
            20,
            "build:build",
            "Write Prometheus, Alertmanager and Grafana configuration for a fleet.",
        ),
        ("Configure", 30, "limits:limits", "List, set and verify limits."),
        ("Configure", 50, "serve:serve", "Serve limits as series and deliver alerts to chats."),
        ("Configure", 60, "serve:notify", "Send a test message to a robot through the real path."),
        ("Configure", 70, "offline:schema", "Print the JSON Schema of the fleet file, for editors."),
        ("Configure", 80, "offline:completion", "Print the shell completion script."),
        ("On call", 20, "live:top", "Show every model of the fleet, live."),
        ("On call", 30, "live:stages", "Show where the time of a request goes, stage by stage."),
    )
)
"""The commands that no extension adds."""

# As --help lists them. The module of a command loads when the command is used.
GROUPS = {
    heading: {
        one.name: one
        for one in sorted(
            (*(one for one in _HEART if one.under == heading), *commands(heading)), key=lambda one: one.order
        )
    }
    for heading in HEADINGS
}
"""Heading → command by its name. A heading without commands is not shown."""
COMMANDS = {name: one for below in GROUPS.values() for name, one in below.items()}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order a new user meets them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = resolved(COMMANDS[cmd_name].at)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Commands from the table above, without importing any."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 (only a shell asks)

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = [(name, one.help) for name, one in COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(name, help=text) for name, text in found]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; an error with the nearest name where there is none."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            import difflib  # noqa: PLC0415 (only a wrong word needs it)

            close = difflib.get_close_matches(word, COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            ctx.fail(f"No such command '{word}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table above rather than from the modules."""
        del ctx
        width = max(map(len, COMMANDS))
        for title, below in GROUPS.items():
            if not below:
                continue
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), one.help) for name, one in below.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example: tritonobs demo",
)
@click.version_option(
    tritonobs.__version__,
    prog_name="tritonobs",
    message=f"%(prog)s, version %(version)s\nrecord path: {record_path()}",
)
def group() -> None:
    """Observability and SLO alerting for fleets of NVIDIA Triton Inference Servers."""


def run() -> None:
    """Run the command line; every error we know becomes one message and an exit code, never a traceback."""
    # Names in any script on any terminal, also under LC_ALL=C.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with _endings():
        status = _status()
        # Output that cannot be written fails here, not at Python's end, which would report it in its own
        # words.
        try:
            sys.stdout.flush()
        except OSError as error:
            status = _lost(error)
        # That stderr is full cannot be reported; the exit status stands.
        try:
            sys.stderr.flush()
        except OSError:
            _silence(sys.stderr)
    sys.exit(status)


@contextmanager
def _endings() -> Iterator[None]:
    """`kill` and a closed terminal end a command as Ctrl-C does: it undoes its changes first."""
    # By default some end Python at once: no `finally` runs, and started processes go on.
    numbers = undo.heeded()
    before = [signal.signal(number, _end) for number in numbers]
    try:
        yield
    finally:
        # The command line may be called by a program with handlers of its own, as tests do.
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    if not undo.postponed(number, frame):
        undo.end(number)


def _status() -> int:
    """Run the command; its exit code."""
    try:
        status = _returned()
    except (click.exceptions.Abort, KeyboardInterrupt):
        say("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        # The message repeats what was typed, so `say` has to escape its control characters.
        paper = io.StringIO()
        error.show(file=paper)
        say(paper.getvalue(), err=True, nl=False)
        return USAGE
    except TritonobsError as error:
        found = isinstance(error, (SpecInvalid, RenderFailed))
        # Findings begin with their file and line, which editors follow: no prefix.
        say(str(error) if isinstance(error, SpecInvalid) else f"tritonobs: {error}", err=True)
        return FOUND if found else COULD_NOT_LOOK
    except (ModuleNotFoundError, OSError) as error:
        if isinstance(error, OSError):
            return _lost(error)
        say(f"tritonobs: {_without(error)}", err=True)
        return COULD_NOT_LOOK
    # Outside its standalone mode click returns what the command returned: an exit status, or None.
    return status if isinstance(status, int) else 0


def _without(missing: ModuleNotFoundError) -> str:
    """One sentence: what is missing, and the command that brings it."""
    name = (missing.name or str(missing)).partition(".")[0]
    # The extra, because modules and packages differ in name (cv2 is in opencv-python-headless).
    found = (
        extra for one in extensions().values() for extra, modules in one.extras.items() if name in modules
    )
    extra = next(found, "cli")
    return f"this command needs {name}: pip install 'tritonobs[{extra}]'"


def _returned() -> object:
    """What the command returned."""
    written = sys.stdout
    try:
        return group(standalone_mode=False)
    except SystemExit:
        # Where the reader has gone, click replaces stdout and ends with 1, which means findings here.
        if sys.stdout is not written:
            raise BrokenPipeError from None
        raise


def _lost(error: OSError) -> int:
    """The exit code of an error of the system. If our own output caused it, the reader has gone."""
    if isinstance(error, BrokenPipeError):
        _silence(sys.stdout)
        return undo.SIGNALLED + signal.SIGPIPE
    # A failed write to stdout names no file, and what is left of the text would fail again at the end.
    unwritten = error.filename is None and error.errno in {errno.ENOSPC, errno.EIO, errno.EBADF}
    if unwritten:
        _silence(sys.stdout)
    about = f"{error.filename}: " if error.filename else "the output: " if unwritten else ""
    say(f"tritonobs: {about}{error.strerror or error}", err=True)
    return COULD_NOT_LOOK


def _silence(stream: TextIO) -> None:
    """Discard what is still to be written, or Python would report the error again when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
