"""What a command costs: its own processor time and the most memory it held, without other processes."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_GUARD_SECONDS, _GUARD_BYTES = 60, 4 << 30
# A program starts with the peak of the one it was forked from: a small one in between keeps ours out of it.
_METER = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    file.write(f"{status} {used.ru_utime + used.ru_stime} {used.ru_maxrss}")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How a command ended, what it said, its seconds of processor time and its peak in MB."""

    status: int
    said: str
    cpu_seconds: float
    peak_megabytes: float


def cost_of(*arguments: str, folder: Path) -> Cost:
    """Run `tritonobs` with these arguments in `folder`; one that runs away is ended by its limits."""

    def guard() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_GUARD_SECONDS, _GUARD_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_GUARD_BYTES, _GUARD_BYTES))
        # Waiting for bytes that never come costs no processor time.
        signal.alarm(4 * _GUARD_SECONDS)

    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile("r") as meter:
        subprocess.run(
            [sys.executable, "-S", "-c", _METER, meter.name, sys.executable, "-m", "tritonobs", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=guard,
            check=True,
        )
        status, cpu_seconds, peak_kilobytes = meter.read().split()
        output.seek(0)
        said = output.read().decode(errors="replace")
    return Cost(
        status=int(status),
        said=said,
        cpu_seconds=float(cpu_seconds),
        peak_megabytes=int(peak_kilobytes) / 1024,
    )
