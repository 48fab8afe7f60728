"""Ask promtool and amtool whether they accept what was written, before anyone has to live with it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tritonobs.errors import RenderFailed

_TIMEOUT_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program that judges one artifact (promtool follows it to the rule files)."""

    program: str
    arguments: tuple[str, ...]
    path: str


PROMETHEUS = Checker(program="promtool", arguments=("check", "config"), path="prometheus/prometheus.yml")
ALERTMANAGER = Checker(program="amtool", arguments=("check-config",), path="alertmanager/alertmanager.yml")
# Shards differ in their number alone, so the first stands for all.
SHARD = Checker(program="promtool", arguments=("check", "config"), path="prometheus/shards/shard-0.yml")
AGENTS = Checker(program="promtool", arguments=("check", "config"), path="prometheus/agents.yml")
CHECKERS = (PROMETHEUS, SHARD, AGENTS, ALERTMANAGER)


def check_artifacts(folder: Path, checker: Checker, program: Path) -> str:
    """Run a checker over a built folder and return what it says.

    Raises:
        RenderFailed: it refused a file, or could not be run; the text is its own.
    """
    try:
        done = subprocess.run(
            [str(program), *checker.arguments, checker.path],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RenderFailed(f"{checker.program} could not be run: {error}") from error
    said = (done.stdout + done.stderr).strip()
    if done.returncode:
        raise RenderFailed(f"{checker.program} rejects the built files:\n{said}")
    return said
