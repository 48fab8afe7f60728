"""The cases of tests/rules/cases and of extensions (tests/NAME/cases), and the rules they are run against."""

from __future__ import annotations

import importlib.util
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonobs import names
from tritonobs.plan.rules import LONGEST_SCRAPE_SECONDS
from tritonobs.render.rules import clock_knobs, evaluate_mixin
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from support.case import Case

TESTS = Path(__file__).parent.parent


@cache
def load_cases() -> dict[str, tuple[Case, ...]]:
    """Every case, by the name of its file."""
    paths = sorted(TESTS.glob("*/cases/*.py"), key=lambda path: path.stem)
    cases = {path.stem: _load(path) for path in paths}
    assert len(cases) == len(paths), "two files of cases have the same name"
    return cases


def knobs_for(scrape_seconds: float) -> dict[str, object]:
    """The mixin's knobs for this scrape interval.

    promtool evaluates all groups at one interval, not at their own: what groups sum up since their last
    evaluation must be of that.
    """
    seconds = min(Decimal(str(scrape_seconds)), LONGEST_SCRAPE_SECONDS)
    knobs = clock_knobs(seconds, seconds) | {"replicaLabel": names.REPLICA}
    for group in ("slo", "slow", "long"):
        knobs[f"{group}Interval"] = format_duration(Decimal(str(scrape_seconds)))
    return knobs


def groups_for(scrape_seconds: float, **more: object) -> tuple[dict[str, Any], ...]:
    """Every group of records and alerts for this scrape interval, with more knobs."""
    rules = evaluate_mixin(knobs_for(scrape_seconds) | more)
    return (*rules["records"]["groups"], *rules["alerts"]["groups"])


generated = cache(groups_for)


def _load(path: Path) -> tuple[Case, ...]:
    spec = importlib.util.spec_from_file_location(f"rule_cases_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases: tuple[Case, ...] = module.CASES
    return cases
