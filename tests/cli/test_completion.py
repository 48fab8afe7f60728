"""Completion, asked by the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def _ask(shell: str, script: str) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here; as root on Debian: tools/setup_tests.sh")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [program, "-c", script], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    return done.stdout.split()


BASH = """
source <(tritonobs completion bash)
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_tritonobs_completion tritonobs
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        pytest.param("tritonobs tri", ["triage"], id="a command"),
        pytest.param("tritonobs limits s", ["set", "suggest"], id="a command of a group"),
        pytest.param("tritonobs triage --ba", ["--baseline"], id="an option"),
        pytest.param("tritonobs triage --format j", ["json"], id="a value"),
    ],
)
def test_bash_completes_commands_options_and_values(words: str, completed: list[str]) -> None:
    """As typed, with Tab at the end."""
    assert _ask("bash", BASH.format(words=words)) == completed


def test_fish_completes() -> None:
    """Words come first, their meaning behind them."""
    asked = 'tritonobs completion fish | source; complete -C "tritonobs tri"'

    assert _ask("fish", asked)[0] == "triage"


def test_zsh_takes_the_script() -> None:
    """Loaded after compinit it registers without a complaint."""
    asked = (
        "autoload -U compinit; compinit -u -D; source <(tritonobs completion zsh); echo $_comps[tritonobs]"
    )

    assert _ask("zsh", asked) == ["_tritonobs_completion"]
