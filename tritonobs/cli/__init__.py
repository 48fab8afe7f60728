"""The command line: options, one call, an exit code. The only place that imports click.

Exit codes: 0 nothing wrong, 1 findings (or a part that failed), 2 wrong usage, 3 could not look.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import click

import tritonobs
from tritonobs.errors import ClientError, SpecInvalid, TritonobsError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FOUND, USAGE, COULD_NOT_LOOK = 1, 2, 3

# Command → (module, one line of help). A module loads only when its command is used: `--help` stays quick.
COMMANDS = {
    "validate": ("offline", "Check a fleet file and say everything that is wrong with it."),
    "build": ("build", "Write Prometheus, Alertmanager and Grafana configuration for a fleet."),
    "limits": ("limits", "List, set and verify QPS limits."),
    "schema": ("offline", "Print the JSON Schema of the fleet file, for editors."),
    "serve": ("serve", "Serve limits as series and deliver alerts to DingTalk."),
    "notify": ("serve", "Send a test message to a robot, through the real path."),
    "tools": ("stack", "Bring Prometheus and Alertmanager from the distribution's packages, without root."),
    "up": ("stack", "Start Triton, Prometheus, Alertmanager and serve on this machine."),
    "status": ("stack", "Show which parts of the local stack run and answer."),
    "down": ("stack", "Stop the local stack."),
    "load": ("load", "Send real images at a steady rate, whatever the answers do."),
    "discover": ("discover", "Write a fleet file of what runs."),
    "stages": ("live", "Show where the time of a request goes, stage by stage."),
    "top": ("top", "Watch every model of the fleet, live."),
    "triage": ("triage", "Say what is wrong, since when, why, and what to do now."),
    "drill": ("drill", "Rehearse an alert: break something on a stack for that, and watch."),
    "snapshot": ("snapshot", "Draw a board as one HTML file or PNG, without Grafana."),
    "completion": ("completion", "Print what teaches a shell to complete commands and options."),
    "demo": ("demo", "Overflow a QPS limit on a real stack and watch the alert arrive."),
}


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
        module = importlib.import_module(f"tritonobs.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands from the table above, without importing any."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 (only a shell asks)

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = [(name, text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(name, help=text) for name, text in found]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word; for one that does not exist, the nearest that does."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            import difflib  # noqa: PLC0415 (only a slip needs it)

            close = difflib.get_close_matches(word, COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            ctx.fail(f"No such command '{word}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table above rather than from the modules."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example: tritonobs demo",
)
@click.version_option(tritonobs.__version__, prog_name="tritonobs")
def group() -> None:
    """Observability and SLO alerting for fleets of NVIDIA Triton Inference Servers."""


def run() -> None:
    """Run the command line; every error we know becomes one message and an exit code, never a traceback."""
    try:
        status = group(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except SpecInvalid as error:
        click.echo(str(error), err=True)
        sys.exit(FOUND)
    except ClientError as error:
        click.echo(f"tritonobs: {error}", err=True)
        sys.exit(COULD_NOT_LOOK)
    except TritonobsError as error:
        click.echo(f"tritonobs: {error}", err=True)
        sys.exit(FOUND)
    sys.exit(status if isinstance(status, int) else 0)
