"""Cases of the rules, asked of promtool, which evaluates all groups at one interval.

Only the rules under test and those they read are evaluated; the rest would cost time and prove nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any, Final

from support.case import labels_of, needed
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from support.case import Case, Samples
    from support.simulate import Values

_SAMPLE: Final = re.compile(r'(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}) (\S+?)(?:, |$)')


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
        {frozenset(labels_of(labels).items()): float(value) for labels, value in _SAMPLE.findall(answer)}
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
