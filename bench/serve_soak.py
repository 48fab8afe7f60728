"""`tritonobs serve` through an hour of bad luck: nothing lost, memory flat, every task alive at the end.

Two robots get bursts of alerts, 50 pieces of news a second together, firing and a minute later resolved, from
callers that repeat a call after a 503 or a broken connection as Alertmanager does. Meanwhile the fleet file
is rewritten every ten seconds, annotations change every twenty, the API server and the robots fail in turn,
and the disk of the log of limits is full twice (that needs root). Exit status 1 when a promise was broken.

python bench/serve_soak.py --minutes 60 --write
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import requests
from hours_seen import held_by, lines, watched
from results import publish, table
from serve_soak_rig import BURST_SECONDS, CALLS, ROBOTS, Soak, rewrite, traffic, trouble, watch

from support.kubernetes import KubernetesDouble
from support.programs import ServeProgram
from tritonobs.extensions.lab.robot import RobotDouble
from tritonobs.limits.log import ANNOTATION, LimitsLog

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUPS_AN_HOUR = 50
_GROWTH, _MORE_FILES = 1.1, 3
"""More would be a leak."""
# In full or short; in Markdown the icon stands before or between the asterisks.
_NEWS = re.compile(r"(🟠|✅) ?(?:\*\*)?Soak\*\* (m\d+)")


@contextmanager
def tiny_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of four megabytes, where root may mount one."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)],  # noqa: S607 (the system's own)
        capture_output=True,
        check=False,
    )
    if done.returncode:
        print("no disk of our own can be made full: mounting one needs root", file=sys.stderr)
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S607 (a program of the system)


def run(
    minutes: float, *, every_seconds: float = BURST_SECONDS, calls: int = CALLS
) -> tuple[Soak, dict[str, object]]:
    """The hour, and what is true after it; each robot gets so many calls at once, so often."""
    with ExitStack() as open_ones:
        folder = Path(open_ones.enter_context(tempfile.TemporaryDirectory(prefix="tritonobs-soak-")))
        disk = open_ones.enter_context(tiny_disk(folder / "disk"))
        robots = {name: open_ones.enter_context(RobotDouble(timeout_seconds=8)) for name in ROBOTS}
        cluster = open_ones.enter_context(KubernetesDouble())
        (folder / "token").write_text(cluster.token)
        for name, robot in robots.items():
            for what, text in (("webhook", robot.webhook_url), ("secret", robot.secret)):
                (folder / f"{name}-{what}").touch(mode=0o600)
                (folder / f"{name}-{what}").write_text(text)
        log = (disk or folder) / "limits.jsonl"
        serve = ServeProgram(folder / "fleet.yaml", env={"TRITONOBS_LIMITS_LOG": str(log)})
        soak = Soak(folder=folder, serve=serve, robots=robots, cluster=cluster, disk=disk)
        soak.write_fleet()
        open_ones.enter_context(serve)
        whole = minutes * 60
        until = time.monotonic() + whole
        workers = [
            threading.Thread(target=traffic, args=(soak, until, every_seconds, calls)),
            threading.Thread(target=rewrite, args=(soak, until)),
            threading.Thread(target=trouble, args=(soak, until, whole)),
        ]
        watching = threading.Thread(target=watch, args=(soak,))
        soak.seen = open_ones.enter_context(watched(lambda: {"serve": held_by(serve.pid, folder)}))
        for worker in (*workers, watching):
            worker.start()
        for worker in workers:
            worker.join()
        ends = _ends(soak, log) | {"lines of its log": lines(serve.log)}
        soak.ended.set()
        watching.join()
        return soak, ends


def hours(minutes: float) -> tuple[str, dict[str, object], bool]:
    """The same with fifty groups an hour, and what it holds at minute 10 and at the end."""
    soak, ends = run(minutes, every_seconds=3600 / _GROUPS_AN_HOUR * len(ROBOTS), calls=1)
    text, values, kept = report(soak, ends)
    held = soak.seen.table() if soak.seen else ""
    return f"{minutes:g} minutes, {_GROUPS_AN_HOUR} groups an hour.\n\n{text}\n\n{held}", values, kept


def _ends(soak: Soak, log: Path) -> dict[str, object]:
    """What serve says at the end, given a minute to recover from the last trouble."""
    deadline = time.monotonic() + 90
    while True:
        page = requests.get(f"{soak.serve.url}/metrics", timeout=9).text
        written = [one.new for one in LimitsLog(log).read()[0] if one.source == ANNOTATION]
        ends: dict[str, object] = {
            "tasks": len(re.findall(r"^tritonobs_task_up\{", page, re.MULTILINE)),
            "tasks down": re.findall(r'tritonobs_task_up\{task="([^"]+)"\} 0', page),
            "task failures": dict(re.findall(r'tritonobs_task_failures_total\{task="([^"]+)"\} (\S+)', page)),
            "limit followed": f'model="inspect",version="1"}} {soak.limit}.0' in page,
            "annotation followed": f'model="nms"}} {soak.annotated[-1]}.0' in page
            or f'model="nms",version=""}} {soak.annotated[-1]}.0' in page,
            "source up": 'tritonobs_limit_source_up{source="kubernetes"} 1.0' in page,
            "annotations in the log": len(set(soak.annotated) & set(written)),
            "last annotation in the log": soak.annotated[-1] in written,
        }
        if _good(ends) or time.monotonic() > deadline:
            return ends
        time.sleep(2)


def _good(ends: dict[str, object]) -> bool:
    """Every task is alive, and all that was changed is in force and in the log."""
    followed = ("limit followed", "annotation followed", "source up", "last annotation in the log")
    return not ends["tasks down"] and all(ends[one] for one in followed)


def report(soak: Soak, ends: dict[str, object]) -> tuple[str, dict[str, object], bool]:
    """The table, the values, and whether all was kept."""
    named = Counter(
        (name, model, "firing" if icon == "🟠" else "resolved")
        for name, robot in soak.robots.items()
        for message in robot.messages
        for icon, model in _NEWS.findall(message.text)
    )
    lost = soak.sent - set(named)
    half = soak.memory[len(soak.memory) // 2 :]
    tenth = max(1, len(half) // 10)

    memory = [statistics.median(row[1] for row in part) for part in (half[:tenth], half[-tenth:])]
    growth = memory[1] / memory[0]
    # Calls that wait hold files: what leaks is missing when none does.
    at_rest = [min(row[2] for row in part) for part in (half[:tenth], half[-tenth:])]

    values: dict[str, object] = {
        "news": len(soak.sent),
        "lost": len(lost),
        "sent twice": sum(count > 1 for count in named.values()),
        "messages": sum(len(robot.messages) for robot in soak.robots.values()),
        "mutes": sum(robot.rules.mutes for robot in soak.robots.values()),
        "rewrites": soak.limit,
        "annotations": len(soak.annotated),
        "disk full": "twice" if soak.disk else "never: needs root",
        "looks": soak.looks,
        "looks without an answer": soak.unhealthy,
        "looks at which a task failed": dict(soak.down),
        "memory, MiB": [round(soak.memory[at][1] / 2**20) for at in (0, len(soak.memory) // 2, -1)],
        "files": [soak.memory[at][2] for at in (0, len(soak.memory) // 2, -1)],
        "growth of memory in the second half": f"{growth - 1:+.1%}",
        "files when no call waits, half-way and at the end": at_rest,
        **ends,
    }
    kept = _good(ends) and not (lost or soak.unhealthy or values["mutes"])
    kept = kept and growth < _GROWTH and at_rest[1] <= at_rest[0] + _MORE_FILES
    rows = [
        [name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)]
        for name, value in values.items()
    ]
    return table(["what", "seen"], rows), values, kept


def main() -> None:
    """Read the command line, soak, publish."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    soak, ends = run(options.minutes)
    text, values, kept = report(soak, ends)
    verdict = "all promises were kept" if kept else "A PROMISE WAS BROKEN"
    text = f"{options.minutes:g} minutes; {verdict}.\n\n{text}"
    publish("serve soak", text, values, as_json=options.json, write=options.write)
    sys.stdout.flush()
    os._exit(0 if kept else 1)  # Threads that wait for a server that is gone are waited for no longer.


if __name__ == "__main__":
    main()
