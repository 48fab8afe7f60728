"""`completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

import click

from tritonobs.cli.say import say


@click.command(epilog="Example: tritonobs completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(*, shell: str) -> None:
    """Print the completion script for SHELL: commands, options and files.

    bash: add it to ~/.bashrc (bash 4.4 or newer). zsh: add it to ~/.zshrc, after compinit. fish: write it to
    ~/.config/fish/completions/tritonobs.fish.
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415 (only this command needs it)

    from tritonobs.cli import group  # noqa: PLC0415 (it imports this module)

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 (click brings the three of them)
    # click derives the variable from the program's name: another one would complete nothing.
    say(kind(group, {}, "tritonobs", "_TRITONOBS_COMPLETE").source())
