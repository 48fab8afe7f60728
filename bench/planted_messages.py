"""What a chat hears of each planted fault, and whether its first messages name the cause.

    python bench/planted_messages.py [--scene NAME …] [--pieces FILE [--kept]] [--show] [--json] [--write]

Every fault of bench/triage_faults.py is lived through with the rules of production: 40 minutes of calm,
a quarter of an hour of the fault, and as long after it. Traffic breathes all the time. Alertmanager is
simulated, its calls are delivered as `serve` does, and its incidents look for the cause as in production.
With --pieces what was lived through is kept in FILE, and not lived through again; with --kept no other is.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from planted.fault import score
from planted.heard import heard
from planted.lived import Planted
from planted.scenes import OUTSIDE, SCENES
from results import publish, table
from triage_faults import PARTS

from support.fleet_sim.engine import Engine
from tritonobs import programs

if TYPE_CHECKING:
    from planted.heard import Heard
    from planted.scene import Scene

SOON_SECONDS: Final = 60.0
MEDIAN_MESSAGES, MOST_MESSAGES, NAMED = 2, 4, 0.9
_WORKERS: Final = 2
_EARLIER_SECONDS: Final = 300.0
"""Some scenes have a first fault so long before the one that triage must name."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Times are seconds since the fault began, but `named_after`.

    That is since the first page where the first message has one, and since that message where it has not.
    """

    scene: str
    faults: int
    page: bool
    alerts: tuple[str, ...]
    first: float | None
    messages: tuple[float, ...]
    before: int
    """Messages before any fault: false ones."""
    said: str
    right: dict[str, bool]
    named_after: float | None
    others: tuple[str, ...]
    """Other causes that messages named within the minute."""
    shown: tuple[str, ...]


def main() -> int:
    """Live through all of them; 1 where a target is missed."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--scene", nargs="*", default=[])
    options.add_argument("--pieces", type=Path, metavar="FILE", help="results of this and earlier runs")
    options.add_argument("--kept", action="store_true", help="those of FILE only")
    options.add_argument("--show", action="store_true", help="print every alert and every message")
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    kept = json.loads(chosen.pieces.read_text()) if chosen.pieces and chosen.pieces.exists() else {}
    asked = kept if chosen.kept else chosen.scene
    names = [one.name for one in (*SCENES, *OUTSIDE) if not asked or one.name in asked]
    # The runtime of jsonnet does not survive a fork.
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        for result, seconds in pool.map(_lived, [name for name in names if name not in kept]):
            print(f"{seconds:5.1f} s  {_line(result)}", file=sys.stderr, flush=True)
            if chosen.show:
                print(*(f"    {line}" for line in result.shown), sep="\n", file=sys.stderr, flush=True)
            kept[result.scene] = asdict(result)
            if chosen.pieces:
                chosen.pieces.write_text(json.dumps(kept, indent=1))
    results = [Result(**kept[name]) for name in names]
    missed = _missed(results)
    values = {one.scene: asdict(one) for one in results}
    publish("planted messages", _text(results, missed), values, as_json=chosen.json, write=chosen.write)
    return 1 if missed else 0


def _lived(name: str) -> tuple[Result, float]:
    (scene,) = (one for one in (*SCENES, *OUTSIDE) if one.name == name)
    began = time.monotonic()
    world = Planted(scene)
    with tempfile.TemporaryDirectory() as folder, Engine(programs.find("prometheus"), Path(folder)) as engine:
        found = heard(engine, world)
    return _result(scene, world, found), time.monotonic() - began


def _result(scene: Scene, world: Planted, found: Heard) -> Result:
    begins = world.begins
    alerts = [one for one in found.lives if one.since >= begins]
    messages = [one for one in found.messages if one.at >= begins]
    first = alerts[0].since if alerts else None
    pages = [one.since for one in alerts if one.labels["severity"] == "critical"]
    page = bool(messages and pages) and messages[0].page
    # Alertmanager keeps warnings back for three minutes.
    begin = 0.0 if not messages else pages[0] if page else messages[0].at
    soon = [one for one in messages if one.at <= begin + SOON_SECONDS and one.named]
    right = dict.fromkeys(PARTS, False)
    named_after = None
    others = []
    for one in soon:
        assert one.named is not None
        # Of two faults a message names the one that its alert is about.
        every = [score(truth, one.named, found.zero + begins) for truth in (scene.truth, scene.also) if truth]
        parts = max(every, key=lambda each: sum(each.values()), default=dict.fromkeys(PARTS, False))
        if parts["headline"] and parts["place"] and named_after is None:
            right, named_after = parts, one.at - begin
        elif not (parts["headline"] and parts["place"]):
            others.append(f"{one.named.check} {' / '.join(filter(None, one.named.place))}")
    return Result(
        scene=scene.name,
        faults=(scene.truth is not None) + (scene.also is not None),
        page=page,
        alerts=tuple(f"{one.labels['alertname']} {_place(one.labels)}".strip() for one in alerts),
        first=None if first is None else first - begins,
        messages=tuple(one.at - begins for one in messages),
        before=sum(one.at < begins - _EARLIER_SECONDS for one in found.messages),
        said=next((one.named.sentence for one in messages if one.named), ""),
        right=right,
        named_after=named_after,
        others=tuple(dict.fromkeys(others)),
        shown=tuple(_shown(world, found)),
    )


def _shown(world: Planted, found: Heard) -> list[str]:
    zero = world.begins
    lines = [
        f"alert {one.since - zero:7.0f} to {'…' if one.until is None else f'{one.until - zero:.0f}':>7} "
        f"{one.labels['severity']:8} {one.labels['alertname']} {_place(one.labels)}"
        for one in found.lives
    ]
    for one in found.messages:
        lines.append(f"message {one.at - zero:7.0f} {', '.join(one.alerts)}")
        lines += [f"    {line}" for line in one.said]
    return lines


def _place(labels: Any) -> str:  # noqa: ANN401 (a mapping of labels)
    return " ".join(labels[key] for key in ("model", "version", "slo", "replica", "stage") if labels.get(key))


def _missed(results: list[Result]) -> list[str]:
    told = [one for one in results if one.faults and one.messages]
    if not told:
        return ["nobody was told anything"]
    counts = [len(one.messages) for one in told]
    named = sum(one.named_after is not None for one in told)
    wide = [
        f"{one.scene}: {len(one.messages)} messages"
        for one in told
        if len(one.messages) > MOST_MESSAGES * one.faults
    ]
    if median(counts) > MEDIAN_MESSAGES:
        wide.append(f"median of messages {median(counts):g}")
    if named < NAMED * len(told):
        wide.append(f"named {named} of {len(told)}")
    if any(one.before for one in results):
        wide.append("messages before a fault")
    return wide + [f"{one.scene}: {one.said}" for one in results if not one.faults and one.said]


def _text(results: list[Result], missed: list[str]) -> str:
    told = [one for one in results if one.faults and one.messages]
    counts = [len(one.messages) for one in told]
    named = [one for one in told if one.named_after is not None]
    parts = ", ".join(f"{part} {sum(one.right[part] for one in told)}" for part in PARTS)
    share = f"{len(named)} of {len(told)}, {100 * len(named) / len(told):.0f} %"
    rows = [
        [
            one.scene,
            "." if one.first is None else f"{one.first:.0f} s",
            str(len(one.messages)),
            "." if not one.messages else f"{one.messages[0]:.0f} s",
            "." if one.named_after is None else f"{one.named_after:.0f} s",
            "; ".join(one.others) or ".",
            one.said or ".",
        ]
        for one in results
    ]
    header = [
        "fault",
        "first alert",
        "messages",
        "first message",
        "named after",
        "another cause",
        "first cause said",
    ]
    return (
        f"{len(results)} of {len(SCENES) + len(OUTSIDE)} scenes, of {len(told)} the chat heard. "
        f"Messages: median {median(counts):g}, most {max(counts)} "
        f"(wanted {MEDIAN_MESSAGES}, and {MOST_MESSAGES} of one fault), "
        f"{sum(one.before for one in results)} before a fault.\n"
        f"Within {SOON_SECONDS:g} s of the first page's alert, or of the first message of "
        f"warnings, which Alertmanager keeps back, a message named the cause of {share} (wanted 90 %), "
        f"of pages {sum(one.page for one in named)} of {sum(one.page for one in told)}: "
        f"{parts} right of {len(told)}; "
        f"of {sum(bool(one.others) for one in told)} another cause was named as well or instead.\n"
        f"Missed: {'; '.join(missed) or 'nothing'}.\n\n{table(header, rows)}"
    )


def _line(one: Result) -> str:
    first = "no alert" if one.first is None else f"first alert {one.first:.0f} s"
    named = "not named" if one.named_after is None else f"named {one.named_after:.0f} s after"
    also = f", also {'; '.join(one.others)}" if one.others else ""
    return f"{one.scene}: {first}, {len(one.messages)} messages, {named}{also}"


if __name__ == "__main__":
    sys.exit(main())
