"""What the chat hears of each drill: does the first message name the cause, and how many messages are there?

python bench/first_message.py [NAME...] [--json] [--write]

Every drill is rehearsed by itself on a practice stack whose rules run five times as fast. A message is about
a drill if it names one of its alerts. The cause counts as named where the words above the alerts begin as
those of triage at the end of the fault; numbers move from look to look and are left out. All drills take
five hours.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from results import publish, table

from tritonobs.extensions.incidents.account import ENGLISH
from tritonobs.extensions.incidents.incident import QUIET_SECONDS
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import DRILLS, Session
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from tritonobs.extensions.lab.drill.drill import Drill, Outcome

SPEED = 5.0
SETTLE_SECONDS = 20.0
"""After the end of a drill's alerts: until their end was delivered."""
_BEGINNING = 4
"""Words; what follows them tells how much, which moves from look to look."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the chat heard of one drill. `first_seconds` is from the fault to the first message about it."""

    drill: str
    promised: str
    messages: int
    first_seconds: float | None
    said: str
    """The line above the alerts of the first message; "" without one."""
    triage: str
    """What triage says at the end of the fault."""
    named: bool
    seconds: float


def main() -> None:
    """Rehearse, and publish what was heard."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("names", nargs="*", default=list(DRILLS))
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    wanted = options.parse_args()
    heard: list[Heard] = []
    with tempfile.TemporaryDirectory(prefix="tritonobs-first-") as folder:
        running = local.start(
            None, Folders(root=Path(folder)), lambda _: None, move_ports=True, drills_speed=SPEED
        )
        try:
            for place, name in enumerate(wanted.names):
                # What follows within minutes can be of the same incident.
                time.sleep(QUIET_SECONDS if place else 0)
                heard.append(listen(running.folders, DRILLS[name]))
                print(heard[-1], file=sys.stderr, flush=True)
        finally:
            native.down(running.folders)
    values: dict[str, Any] = {one.drill: asdict(one) for one in heard}
    publish("first_message", report(heard), values, as_json=wanted.json, write=wanted.write)


def listen(folders: Folders, drill: Drill) -> Heard:
    """One drill by itself, and what the robot accepted about it."""
    rig = Rig(folders, str(folders.root))
    began = time.time()
    with Session(
        rig, lambda _name, moment: print(f"  {moment.seconds:6.1f} {moment.what}", file=sys.stderr)
    ) as one:
        (outcome,) = one.rehearse([drill])
    time.sleep(SETTLE_SECONDS)
    names = {alert.name for alert in drill.alerts}
    about = [
        each
        for each in rig.robot.get("/messages").required().json()
        if each["received_at"] >= began and any(name in each["text"] for name in names)
    ]
    said = _above(about[0]["text"]) if about else ""
    return Heard(
        drill=drill.name,
        promised=drill.check,
        messages=len(about),
        first_seconds=about[0]["received_at"] - _caused(outcome, time.time()) if about else None,
        said=said,
        triage=outcome.sentence,
        named=bool(drill.check) and _same(said, outcome.sentence),
        seconds=time.time() - began,
    )


def _caused(outcome: Outcome, now: float) -> float:
    """When the fault was caused: moments count from it, and the last one was just before `now`."""
    return now - SETTLE_SECONDS - max((moment.seconds for moment in outcome.moments), default=0.0)


def _above(text: str) -> str:
    """The bold line below the headline that is not the name of an alert."""
    lines = [line for line in text.splitlines() if line.startswith("**")]
    first = lines[0].partition("**")[2].partition("**")[0] if lines else ""
    return "" if first[:1] in {"\N{LARGE RED CIRCLE}", "\N{LARGE ORANGE CIRCLE}"} else first


def _same(said: str, sentence: str) -> bool:
    """Whether both are sentences of one check about one place: they begin alike, but for numbers."""
    said = said.removeprefix(ENGLISH.other_cause.format(""))
    words = [_NUMBER.sub("#", text).partition(", since ")[0].casefold().split() for text in (said, sentence)]
    begins = [[word.rstrip(",.;") for word in each[:_BEGINNING]] for each in words]
    return bool(begins[0]) and begins[0] == begins[1]


def report(heard: list[Heard]) -> str:
    """The table, and what it comes to."""
    rows = [
        (
            one.drill,
            one.promised or "nothing",
            str(one.messages),
            "." if one.first_seconds is None else f"{one.first_seconds:.0f} s",
            one.said or ".",
            "yes" if one.named else "." if not one.promised else "no",
        )
        for one in heard
    ]
    faults = [one for one in heard if one.promised and one.messages]
    named = sum(one.named for one in faults)
    counts = [one.messages for one in heard if one.messages]
    return "\n".join(
        (
            f"{len(heard)} of {len(DRILLS)} drills, each by itself, with rules {SPEED:g} times as fast.",
            "",
            f"The first message named the cause in {named} of {len(faults)} drills that made one.",
            f"Messages a drill: median {median(counts) if counts else 0:g}, most {max(counts, default=0)}.",
            "",
            table(("drill", "promised check", "messages", "first after", "begins with", "the cause"), rows),
        )
    )


if __name__ == "__main__":
    main()
