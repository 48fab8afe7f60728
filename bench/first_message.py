"""What the chat hears of each drill: does the first message name the cause, and how many messages are there?

python bench/first_message.py [NAME...] [--pieces FILE] [--side-by-side 1] [--json] [--write]

Every drill is rehearsed by itself on a practice stack of its own whose rules run five times as fast. All
messages count that the chat gets after the fault, but for those of infos alone, which no incident has; often
another alert speaks before the promised one. The fault stays until there is a message, at most four minutes
longer, because warnings wait for three. The cause counts as named where the words above the alerts begin as
those of triage at the end of the fault; numbers move from look to look and are left out. What came of the
drills themselves is written as `bench/drills.py` does.

All drills take four hours, less side by side where the machine has room for several stacks. With --pieces
what was heard is kept in a file, also after Ctrl-C, and a later run does only what the file lacks.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import drills
from results import publish, table

from tritonobs.extensions.incidents.account import ENGLISH
from tritonobs.extensions.lab.drill.drill import CALM
from tritonobs.extensions.lab.drill.rig import Rig
from tritonobs.extensions.lab.drill.run import DRILLS, Session
from tritonobs.extensions.lab.report import outcome_values
from tritonobs.extensions.lab.stack import local, native
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.extensions.lab.drill.drill import Drill, Moment, Outcome

SPEED = 5.0
WARM_SECONDS = 90.0
WARNED_SECONDS = 240.0
SOON_SECONDS = 60.0
SETTLE_SECONDS = 20.0
"""After the end of a drill's alerts: until their end was delivered."""
_BEGINNING = 4
"""Words; what follows them tells how much, which moves from look to look."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_COUNTS = re.compile("^(critical|warning) \N{MIDDLE DOT} ", re.MULTILINE)
"""Below each alert stands its severity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the chat heard of one drill. `first_seconds` is from the fault to the first message."""

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
    outcome: dict[str, Any]
    """What came of the drill, as `tritonobs drill --format json` says it."""
    texts: list[str]
    """Every message, in order."""
    named_seconds: float | None = None
    """From the first message to the one that names the cause, where one does."""


def main() -> None:
    """Rehearse what is not in the file yet, and publish all that was heard."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("names", nargs="*", default=list(DRILLS))
    options.add_argument("--pieces", type=Path)
    options.add_argument("--side-by-side", type=int, default=1)
    options.add_argument("--healthy", type=int, default=0, help="looks at a stack without a fault")
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    wanted = options.parse_args()
    kept = wanted.pieces and wanted.pieces.exists()
    heard: dict[str, dict[str, Any]] = json.loads(wanted.pieces.read_text()) if kept else {}

    def keep(more: dict[str, dict[str, Any]]) -> None:
        heard.update(more)
        if wanted.pieces:
            wanted.pieces.write_text(json.dumps(heard, indent=1))

    missing = [name for name in wanted.names if name not in heard]
    if len(missing) == 1:
        name = missing.pop()
        keep({name: asdict(listen(DRILLS[name]))})
    with ThreadPoolExecutor(wanted.side_by_side) as pool:
        try:
            for done in as_completed([pool.submit(_apart, name) for name in missing]):
                keep(done.result())
        finally:
            # After Ctrl-C no other drill begins.
            pool.shutdown(cancel_futures=True)
    if wanted.healthy and drills.HEALTHY not in heard:
        with practice() as folders:
            looks = [*drills.healthy(Rig(folders, str(folders.root)), wanted.healthy)]
        keep({drills.HEALTHY: {"looks": looks}})
    shown = [Heard(**heard[name]) for name in DRILLS if name in heard]
    publish("first_message", report(shown), heard, as_json=wanted.json, write=wanted.write)
    if wanted.write:
        seen: dict[str, Any] = {one.drill: one.outcome for one in shown}
        seen[drills.HEALTHY] = heard.get(drills.HEALTHY, {"looks": []})["looks"]
        publish("drills", drills.report(seen, pieces=True), seen, as_json=wanted.json, write=True)


def _apart(name: str) -> dict[str, dict[str, Any]]:
    """What was heard of one drill, in a process of its own; nothing if it could not be rehearsed."""
    done = subprocess.run(
        [sys.executable, __file__, name, "--json"], stdout=subprocess.PIPE, text=True, check=False
    )
    print(f"{name}: {'heard' if done.returncode == 0 else 'not rehearsed'}", file=sys.stderr, flush=True)
    values: dict[str, dict[str, Any]] = json.loads(done.stdout)["values"] if done.returncode == 0 else {}
    return values


@contextmanager
def practice() -> Iterator[Folders]:
    """A practice stack, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="tritonobs-first-") as folder:
        running = local.start(
            None, Folders(root=Path(folder)), lambda _: None, move_ports=True, drills_speed=SPEED
        )
        try:
            yield running.folders
        finally:
            native.down(running.folders)


def listen(drill: Drill) -> Heard:
    """One drill on a stack for it, and what the robot accepted meanwhile."""
    with practice() as folders:
        rig = Rig(folders, str(folders.root))
        began = time.time()
        silence = Silence(rig)
        # A cause is found by what was before.
        rig.traffic.switch(CALM)
        time.sleep(WARM_SECONDS)

        def tell(_name: str, moment: Moment) -> None:
            print(f"  {moment.seconds:6.1f} {moment.what}", file=sys.stderr)
            if moment.what == drill.breaks:
                silence.begin()

        with Session(rig, tell, silence.lasts if drill.alerts else lambda: False) as one:
            (outcome,) = one.rehearse([drill])
        time.sleep(SETTLE_SECONDS)
        ended = time.time()
        told = _messages(rig)
    caused = _caused(outcome, ended)
    told = [each for each in told if each["received_at"] >= caused]
    said = _above(told[0]["text"]) if told else ""
    return Heard(
        drill=drill.name,
        promised=drill.check,
        messages=len(told),
        first_seconds=told[0]["received_at"] - caused if told else None,
        said=said,
        triage=outcome.sentence,
        named=bool(drill.check) and _same(said, outcome.sentence),
        seconds=ended - began,
        outcome=outcome_values(outcome),
        texts=[each["text"] for each in told],
        named_seconds=next(
            (
                each["received_at"] - told[0]["received_at"]
                for each in told
                if drill.check and _same(_above(each["text"]), outcome.sentence)
            ),
            None,
        ),
    )


class Silence:
    """Whether nobody was told since the fault, for four minutes at most."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._told = 0
        self._ends: float | None = None

    def begin(self) -> None:
        """The fault begins."""
        self._told = len(_messages(self._rig))

    def lasts(self) -> bool:
        """Asked again and again while the fault stays."""
        now = time.monotonic()
        self._ends = self._ends or now + WARNED_SECONDS
        return now < self._ends and len(_messages(self._rig)) == self._told


def _messages(rig: Rig) -> list[dict[str, Any]]:
    """What the robot accepted, but for infos alone."""
    told: list[dict[str, Any]] = rig.robot.get("/messages").required().json()
    return [each for each in told if _COUNTS.search(each["text"])]


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
    faults = [one for one in heard if one.promised and one.first_seconds is not None]
    named = sum(one.named for one in faults)
    soon = sum(one.named or (one.named_seconds or math.inf) <= SOON_SECONDS for one in faults)
    counts = [one.messages for one in heard if one.messages]
    return "\n".join(
        (
            f"{len(heard)} of {len(DRILLS)} drills, each by itself, with rules {SPEED:g} times as fast.",
            "",
            (
                f"The first message named the cause in {named} of {len(faults)} drills that made one, "
                f"a message within {SOON_SECONDS:g} s of it in {soon}."
            ),
            f"Messages a drill: median {median(counts) if counts else 0:g}, most {max(counts, default=0)}.",
            "",
            table(("drill", "promised check", "messages", "first after", "begins with", "the cause"), rows),
        )
    )


if __name__ == "__main__":
    main()
