"""Change the rules one small way at a time: which changes does no case notice, nor the test of clusters?

`make mutants`, or `python bench/mutants.py --only TritonQps`. Exit code 1 when too many survive. A run keeps
what it found of each rule in a file: only rules that changed, or whose cases did, are tried again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import chain
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import publish, table
from rule_mutants import Mutant, changed, mutants_of

from support.case import Case, Groups, Rule, needed, rule_name
from support.case_engine import UNCOMPUTED, CaseEngine
from support.promql import GLOBAL, mixing
from support.rule_cases import generated, load_cases
from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REQUIRED_RATIO = 0.98
SCRAPE_SECONDS = 15
# Longer worlds are the proof of other things; as a mutant's last resort they would cost hours.
_MOST_SAMPLES = 2100
_MOST_INDIRECT = 12
_MARK = "Mutant"
_WORD = re.compile(r"[A-Za-z_:][\w:]*")
_KEPT = Path(__file__).with_name("mutants_kept.json")


@cache
def _all() -> tuple[tuple[Case, Groups, frozenset[str]], ...]:
    """Every case that is short enough, the rules it evaluates, and the names of those it can notice."""
    return tuple(
        (case, groups, _noticed(case, groups))
        for cases in load_cases().values()
        for case in cases
        if len(case.world.times) <= _MOST_SAMPLES
        for groups in [needed(generated(case.world.scrape_seconds), case.rules, case.given)]
    )


def _noticed(case: Case, groups: Groups) -> frozenset[str]:
    """The rules that a case asks for, and all that these read."""
    words = {word for check in case.checks for word in _WORD.findall(check.expr)}
    asked = [name for group in groups for rule in group["rules"] if (name := rule_name(rule)) in words]
    return frozenset(rule_name(rule) for group in needed(groups, asked) for rule in group["rules"])


@cache
def relevant(name: str) -> list[tuple[Case, Groups]]:
    """The cases that can notice the rule called `name`: those about it first, short ones before long ones."""
    direct, indirect = [], []
    for case, groups, noticed in _all():
        if name in noticed:
            cost = len(case.world.times) * sum(len(group["rules"]) for group in groups)
            (direct if name in case.rules else indirect).append((cost, case, groups))
    direct.sort(key=lambda entry: entry[0])
    indirect.sort(key=lambda entry: entry[0])
    return [(case, groups) for _, case, groups in [*direct, *indirect[:_MOST_INDIRECT]]]


class _Worker:
    """What each process has: a Prometheus that computes cases. It ends with the process."""

    engine: CaseEngine

    @classmethod
    def start(cls) -> None:
        running = ExitStack()
        cls.engine = running.enter_context(CaseEngine(programs.find("prometheus")))
        Finalize(None, running.close, exitpriority=1)


def survivors(name: str, mutants: Sequence[Mutant]) -> list[int]:
    """The places of the mutants of a rule that mix no clusters and with which every case passes."""
    left = [mutant for mutant in mutants if name in GLOBAL or not any(mixing(mutant.rule["expr"]))]
    for case, groups in relevant(name):
        if left:
            killed = _side_by_side(case, groups, left)
            left = [mutant for mutant in left if mutant not in killed]
    # What is left may show in what other rules make of it; nothing reads an alert.
    return [mutant.place for mutant in left if "alert" in mutant.rule or not _shows(mutant)]


def _side_by_side(case: Case, groups: Groups, mutants: Sequence[Mutant]) -> list[Mutant]:
    """The mutants that fail a case which asks for the rule itself: all in one run, each by its own name."""
    name = mutants[0].name
    named = re.compile(rf"(?<![\w:]){re.escape(name)}(?![\w:])")
    checks = [check for check in case.checks if named.search(check.expr)]
    left, killed = list(mutants), list[Mutant]()
    while checks and left:
        copies = {f"{name}{_MARK}{mutant.place}": mutant for mutant in left}
        asked = [
            replace(
                check,
                expr=named.sub(copy, check.expr),
                samples={named.sub(copy, labels): value for labels, value in check.samples.items()},
            )
            for copy in copies
            for check in checks
        ]
        beside = [
            {**group, "rules": [one for rule in group["rules"] for one in _with_copies(rule, copies)]}
            for group in groups
        ]
        every = replace(case, checks=tuple(asked), rules=(*case.rules, *copies))
        output = _Worker.engine.wrong(beside, every)
        found = {copies[copy] for copy in copies if re.search(rf"{re.escape(copy)}(?!\d)", output)}
        killed += found
        left = [mutant for mutant in left if mutant not in found]
        # Where a copy cannot be computed, the engine says so of the first and ends: once more without it.
        if not output.startswith(UNCOMPUTED) or not found:
            break
    return killed


def _with_copies(rule: Rule, copies: Mapping[str, Mutant]) -> Iterator[Rule]:
    """The rule, and its copies with one change each, with the windows of its scrape interval."""
    yield rule
    own = {mutant.place: mutant.rule for mutant in mutants_of(rule)}
    for copy, mutant in copies.items():
        if mutant.name == rule_name(rule) and mutant.place in own:
            yield {**own[mutant.place], "record" if "record" in rule else "alert": copy}


def _shows(mutant: Mutant) -> bool:
    """Whether a case notices the mutant in the place of the rule."""
    for case, original in relevant(mutant.name):
        groups = [
            {**group, "rules": [changed(rule, mutant) for rule in group["rules"]]} for group in original
        ]
        if _Worker.engine.wrong(groups, case):
            return True
    return False


class Kept:
    """What earlier runs found, by rule: which mutants no case noticed. Written after every rule."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else {}

    def of(self, name: str, digest: str) -> list[int] | None:
        """The places of the survivors of a rule that is as it was, with the same cases."""
        known = self._found.get(name, {})
        return known["left"] if known.get("digest") == digest else None

    def keep(self, name: str, digest: str, left: list[int]) -> None:
        """Write down the places of the survivors of a rule."""
        self._found[name] = {"digest": digest, "left": left}
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(dict(sorted(self._found.items())), indent=1) + "\n")
        new.replace(self._path)


def _digest(name: str, mutants: Sequence[Mutant]) -> str:
    """What the result for a rule depends on: its mutants, and every case with the rules it evaluates."""
    made = hashlib.sha256(repr([(mutant.place, _bare(mutant.rule)) for mutant in mutants]).encode())
    for case, groups in relevant(name):
        world = (case.world.scrape_seconds, sorted(case.world.series.items()))
        rules = [(group["interval"], [_bare(rule) for rule in group["rules"]]) for group in groups]
        made.update(repr((case.says, case.checks, case.rules, world, rules)).encode())
    return made.hexdigest()[:16]


def _bare(rule: Rule) -> Rule:
    """A rule without its texts, which decide nothing."""
    return {key: value for key, value in rule.items() if key != "annotations"}


def main() -> int:
    """Run the mutants, print the survivors, and say how many were killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="rules whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, chosen by --seed; 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kept", type=Path, default=_KEPT, help="where results are kept (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the result into bench/RESULTS.md")
    options = parser.parse_args()
    every = [
        mutant
        for group in generated(SCRAPE_SECONDS)
        for rule in group["rules"]
        for mutant in mutants_of(rule)
        if options.only in mutant.name
    ]
    if 0 < options.sample < len(every):
        every = random.Random(options.seed).sample(every, options.sample)  # noqa: S311 (a repeatable choice)
    started = time.monotonic()
    by_name: dict[str, list[Mutant]] = {}
    for mutant in every:
        by_name.setdefault(mutant.name, []).append(mutant)
    left = [mutant for alive in _each(by_name, options) for mutant in alive]
    ratio = _publish(every, left, time.monotonic() - started, options)
    return 0 if ratio >= REQUIRED_RATIO else 1


def _each(by_name: Mapping[str, Sequence[Mutant]], options: argparse.Namespace) -> Iterator[list[Mutant]]:
    """The survivors of each rule, as they are found."""
    # A sample has other mutants of a rule than a whole run.
    kept = None if options.sample else Kept(options.kept)
    digests = {name: _digest(name, mutants) for name, mutants in by_name.items()} if kept else {}
    known = {name: kept.of(name, digest) for name, digest in digests.items()} if kept else {}
    # The process is forked: what it knows of cases and rules its children know, too.
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork"), _Worker.start) as pool:
        asked = {
            pool.submit(survivors, name, mutants): name
            for name, mutants in by_name.items()
            if known.get(name) is None
        }
        found = chain(
            ((name, left) for name, left in known.items() if left is not None),
            ((asked[done], done.result()) for done in as_completed(asked)),
        )
        for number, (name, left) in enumerate(found, 1):
            if kept and known[name] is None:
                kept.keep(name, digests[name], left)
            print(
                f"{number}/{len(by_name)} {name}: {len(left)} of {len(by_name[name])} not noticed",
                file=sys.stderr,
            )
            yield [mutant for mutant in by_name[name] if mutant.place in left]


def _publish(
    every: Sequence[Mutant], left: Sequence[Mutant], seconds: float, options: argparse.Namespace
) -> float:
    """Say and publish the share of the mutants that were killed, and return it."""
    made, survived = (Counter(mutant.kind for mutant in mutants) for mutants in (every, left))
    ratio = 1 - len(left) / len(every) if every else 1
    said = f"{len(every) - len(left)} of {len(every)} changes of the rules are noticed ({ratio:.1%}); "
    said += f"{seconds:.0f} s."
    rows = [[kind, str(made[kind]), str(made[kind] - survived[kind])] for kind in sorted(made)]
    lines = [f"- {mutant.name}: {mutant.kind}: {mutant.change}" for mutant in left]
    survivors = "\n".join(["", "Not noticed:", "", *lines]) if left else ""
    publish(
        "mutants",
        f"{said}\n\n{table(['change', 'made', 'noticed'], rows)}\n{survivors}",
        {"made": made, "survived": survived, "survivors": lines, "seconds": seconds},
        as_json=options.json,
        write=options.write,
    )
    return ratio


if __name__ == "__main__":
    sys.exit(main())
