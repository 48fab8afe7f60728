"""Rules against simulated fleets: each case asks promtool what the generated rules make of a world.

Only the rules under test and those they read are evaluated; the rest would cost time and prove nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from support.simulate import series_name
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from support.simulate import Values, World

Rule: TypeAlias = dict[str, Any]
Groups: TypeAlias = list[dict[str, Any]]
Samples: TypeAlias = dict[frozenset[tuple[str, str]], float]
"""Values by their labels."""
_PRECISION: Final = "0.0001"
_SAMPLE = re.compile(r'(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}) (\S+?)(?:, |$)')
_LABEL = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(?::[a-zA-Z0-9_]+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What an expression must read at a minute: its samples by their labels, or nothing."""

    expr: str
    minute: float
    samples: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A world, the rules that are asked about it, and what they must say.

    `given` are records that the world brings along, so that days need not be simulated request by request.
    """

    says: str
    world: World
    rules: tuple[str, ...]
    checks: tuple[Check, ...]
    given: tuple[str, ...] = ()


def fires(alert: str, minute: float, **labels: str) -> Check:
    """The alert fires at this minute, once, with exactly these labels."""
    return all_fire(alert, minute, labels)


def all_fire(alert: str, minute: float, *subjects: Mapping[str, str]) -> Check:
    """The alert fires at this minute for exactly these subjects."""
    own = {"alertname": alert, "alertstate": "firing"}
    return Check(
        expr=f'ALERTS{{alertname="{alert}",alertstate="firing"}}',
        minute=minute,
        samples={series_name("ALERTS", own | {**labels}): 1 for labels in subjects},
    )


def silent(alert: str, minute: float, *, since: float = 0) -> Check:
    """The alert has not fired from `since` to this minute."""
    window = format_duration((minute - since) * 60)
    return Check(
        expr=f'count_over_time(ALERTS{{alertname="{alert}",alertstate="firing"}}[{window}])', minute=minute
    )


def reads(expr: str, minute: float, *samples: tuple[Mapping[str, str], float]) -> Check:
    """The expression has exactly these samples at this minute, to four places."""
    return Check(
        expr=f"round({expr}, {_PRECISION})",
        minute=minute,
        samples={series_name("", labels): value for labels, value in samples},
    )


def near(
    expr: str, minute: float, labels: Mapping[str, str], value: float, *, tolerance: float = 0.02
) -> Check:
    """The expression has one sample at this minute, with these labels, within `tolerance` of a value."""
    return Check(
        expr=f"abs(({expr}) / {value} - 1) <= bool {tolerance}",
        minute=minute,
        samples={series_name("", labels): 1},
    )


def absent(expr: str, minute: float) -> Check:
    """The expression has no sample at this minute."""
    return Check(expr=expr, minute=minute)


def rule_name(rule: Mapping[str, Any]) -> str:
    """What a rule records, or the name of its alert."""
    return str(rule.get("record") or rule["alert"])


def needed(groups: Iterable[Mapping[str, Any]], names: Iterable[str], given: Iterable[str] = ()) -> Groups:
    """The groups reduced to the rules called `names` and the records they read, except `given`.

    Raises:
        KeyError: no rule has one of the names.
    """
    groups = list(groups)
    rules: dict[str, list[Rule]] = {}
    for group in groups:
        for rule in group["rules"]:
            rules.setdefault(rule_name(rule), []).append(rule)
    wanted: set[str] = set()
    known = set(given)
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in wanted | known:
            continue
        wanted.add(name)
        for rule in rules[name]:
            text = " ".join((rule["expr"], *rule.get("annotations", {}).values()))
            waiting += [read for read in _NAME.findall(text) if read in rules]
    reduced = [
        {
            **group,
            "rules": [rule for rule in group["rules"] if rule_name(rule) in wanted],
        }
        for group in groups
    ]
    return [group for group in reduced if group["rules"]]


def run(promtool: Path, groups: Sequence[Mapping[str, Any]], case: Case, folder: Path) -> str:
    """What promtool says is wrong with the case, or nothing.

    Groups are evaluated in their order; left to itself, promtool takes another one each time.
    """
    rules = folder / "rules.yml"
    used = needed(groups, case.rules, case.given)
    rules.write_text(_yaml({"groups": used}), encoding="utf-8")
    test = folder / "test.yml"
    order = [group["name"] for group in used]
    test.write_text(_yaml({**_test(case, rules.name), "group_eval_order": order}), encoding="utf-8")
    # Days of samples are garbage at once: collected less often they cost a seventh less.
    done = subprocess.run(
        [str(promtool), "test", "rules", str(test)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOGC": "400"},
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def seen(promtool: Path, groups: Sequence[Mapping[str, Any]], case: Case, folder: Path) -> list[Samples]:
    """What Prometheus reads, check by check, where the checks of a case expect nothing."""
    answers = re.findall(r"^ +got: (.*)$", run(promtool, groups, case, folder), re.MULTILINE)
    return [
        {
            frozenset((name, json.loads(value)) for name, value in _LABEL.findall(labels)): float(value)
            for labels, value in _SAMPLE.findall(answer)
        }
        for answer in answers
    ]


def encode(values: Values) -> str:
    """Samples as promtool writes them: `0+5x10` for runs, `_x3` for gaps, the first of a gap marked stale."""
    return " ".join(_encode(values))


def _yaml(value: object) -> str:
    """JSON is YAML, and a hundred times faster written."""
    return json.dumps(value, ensure_ascii=False)


def _test(case: Case, rules: str) -> dict[str, Any]:
    world = case.world
    return {
        "rule_files": [rules],
        "evaluation_interval": format_duration(world.scrape_seconds),
        "tests": [
            {
                "name": case.says,
                "interval": format_duration(world.scrape_seconds),
                "input_series": [
                    {"series": name, "values": encode(values)} for name, values in world.series.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": check.expr,
                        "eval_time": format_duration(check.minute * 60),
                        "exp_samples": [
                            {"labels": labels, "value": value} for labels, value in check.samples.items()
                        ],
                    }
                    for check in case.checks
                ],
            }
        ],
    }


def _encode(values: Values) -> Iterator[str]:
    at = 0
    while at < len(values):
        first = values[at]
        end = at + 1
        if first is None:
            while end < len(values) and values[end] is None:
                end += 1
            gap = end - at
            if at:
                yield "stale"
                gap -= 1
            yield from [f"_x{gap}"] if gap else []
            at = end
            continue
        step = _step(values, at)
        while end < len(values) and step is not None and _step(values, end - 1) == step:
            end += 1
        count = end - at - 1
        sign = "+" if (step or 0) >= 0 else "-"
        yield f"{first:.12g}{sign}{abs(step or 0):.12g}x{count}" if count else f"{first:.12g}"
        at = end


def _step(values: Values, at: int) -> float | None:
    here, after = values[at], values[at + 1] if at + 1 < len(values) else None
    return None if here is None or after is None else after - here
