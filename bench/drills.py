"""`tritonobs drill all` on a stack for it, and triage on the same stack when nothing is wrong.

python bench/drills.py [NAME...] [--pieces FILE] [--healthy 10] [--json] [--write]

It takes more than an hour. With --pieces what was seen is kept in a file, also after Ctrl-C, and a later run
does only what the file lacks.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import publish, table

from tritonobs.extensions.lab.drill.drill import CALM
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import DRILLS
from tritonobs.extensions.lab.report import seconds
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders
from tritonobs.extensions.triage.answers import verdict as look
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Keep = Callable[[str, dict[str, Any]], None]

SPEED = 5.0
WINDOW_SECONDS = 20.0
HEALTHY = "healthy"


def main() -> None:
    """Rehearse what is not in the file yet, and publish all that is."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("names", nargs="*", default=list(DRILLS))
    options.add_argument("--pieces", type=Path)
    options.add_argument("--healthy", type=int, default=10)
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    wanted = options.parse_args()
    seen: dict[str, Any] = (
        json.loads(wanted.pieces.read_text()) if wanted.pieces and wanted.pieces.exists() else {}
    )

    def keep(name: str, value: dict[str, Any]) -> None:
        seen[name] = [*seen.get(HEALTHY, []), value] if name == HEALTHY else value
        if wanted.pieces:
            wanted.pieces.write_text(json.dumps(seen, indent=1))

    missing = [name for name in wanted.names if name not in seen or seen[name]["problem"]]
    repeats = wanted.healthy - len(seen.get(HEALTHY, []))
    pieces = bool(seen)
    if missing or repeats > 0:
        with tempfile.TemporaryDirectory(prefix="tritonobs-drills-") as folder:
            rehearse(Path(folder), missing, repeats, keep)
    publish("drills", report(seen, pieces=pieces), seen, as_json=wanted.json, write=wanted.write)


def rehearse(folder: Path, names: list[str], repeats: int, keep: Keep) -> None:
    """The healthy repeats first, on a stack that never had a fault; then `tritonobs drill`."""
    running = local.start(
        None,
        Folders(root=folder),
        lambda name: print(f"{name} ready", file=sys.stderr),
        move_ports=True,
        drills_speed=SPEED,
    )
    try:
        for verdict in healthy(Rig(running.folders, str(folder)), repeats):
            keep(HEALTHY, verdict)
        if names:
            for outcome in drilled(folder, names):
                keep(outcome["drill"], outcome)
    finally:
        native.down(running.folders)


def drilled(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """What the command says came of the drills; after Ctrl-C, of those that had ended."""
    chosen = ["all"] if set(names) == set(DRILLS) else names
    command = [
        sys.executable,
        "-m",
        "tritonobs",
        "drill",
        *chosen,
        "--state",
        str(folder),
        "--format",
        "json",
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said, _ = child.communicate()
    except (KeyboardInterrupt, SystemExit):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the drill still cleans up and tells
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate()
    outcomes: list[dict[str, Any]] = json.loads(said or "[]")
    return outcomes


def healthy(rig: Rig, repeats: int) -> Iterator[dict[str, str]]:
    """Windows of ordinary traffic, one after another, each compared with the first."""
    if repeats <= 0:
        return
    rig.traffic.switch(CALM)
    try:
        time.sleep(2 * WINDOW_SECONDS)
        baseline = Span(start=time.time() - WINDOW_SECONDS, end=time.time())
        for number in range(repeats):
            time.sleep(WINDOW_SECONDS)
            now = time.time()
            verdict = look(
                rig.prometheus,
                rig.asked,
                incident=Span(start=now - WINDOW_SECONDS, end=now),
                baseline=baseline,
            ).verdict
            print(f"healthy {number + 1}: {verdict.status} {verdict.sentence}", file=sys.stderr)
            yield {"status": verdict.status, "sentence": verdict.sentence}
    finally:
        rig.traffic.stop()


def report(seen: dict[str, Any], *, pieces: bool) -> str:
    """The table, and what it comes to."""
    rows = [row for name in DRILLS if name in seen for row in _rows(seen[name])]
    done = [seen[name] for name in DRILLS if name in seen]
    faults = [each for each in done if each["promised"]]
    named = [each for each in faults if each["named_after"] is not None]
    kept = [each for each in done if not _broken(each)]
    calm = seen.get(HEALTHY, [])
    well = sum(each["status"] == "healthy" for each in calm)
    missing = [name for name in DRILLS if name not in seen or seen[name]["problem"]]
    lines = [
        f"Rules run {SPEED:g} times as fast as the fleet's (`tritonobs up --drills`): waits, and windows of",
        "two minutes and more, are divided. Seconds count from the fault, those of",
        "*resolved* from its end.",
        "",
        table(("drill", "alert", "fired", "resolved", "triage's first cause", "after", "as promised"), rows),
        "",
        "Not all of it is from one run of one stack: drills can be done in pieces (`--pieces`), and the last"
        " run of each counts."
        if pieces
        else "All of it is from one run of one stack.",
        "",
        f"- {len(kept)} of {len(done)} drills went as promised.",
        f"- Triage named the planted cause first in {len(named)} of {len(faults)} faults.",
    ]
    if calm:
        lines.append(f"- On the healthy stack under load triage said healthy {well} of {len(calm)} times.")
    lines += [f"- {each['drill']}: {broken}." for each in done for broken in _broken(each)]
    lines += [f"- Not run: {', '.join(missing)}."] if missing else []
    lines += [f"- Not healthy: {each['sentence']}" for each in calm if each["status"] != "healthy"]
    return "\n".join(lines)


def _broken(seen: dict[str, Any]) -> list[str]:
    return list(seen["broken"])


def _rows(seen: dict[str, Any]) -> list[tuple[str, ...]]:
    verdict = (
        seen["cause"] or "nothing wrong",
        seconds(seen["named_after"]),
        "no" if _broken(seen) else "yes",
    )
    alerts = [
        (each["name"], seconds(each["fired_after"]), seconds(each["resolved_after"]))
        for each in seen["alerts"]
    ] or [("-", "-", "-")]
    first, *more = alerts
    return [(seen["drill"], *first, *verdict), *(("", *each, "", "", "") for each in more)]


if __name__ == "__main__":
    main()
