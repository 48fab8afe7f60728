"""The cases of tests/rules/cases, and the generated rules they are run against."""

from __future__ import annotations

import importlib.util
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonobs import names
from tritonobs.plan.windows import LONGEST_SCRAPE_SECONDS, rule_windows
from tritonobs.render.rules import evaluate_mixin, window_knobs

if TYPE_CHECKING:
    from tritonobs.testing.promtool import Case

FOLDER = Path(__file__).parent.parent / "tests" / "rules" / "cases"


@cache
def load_cases() -> dict[str, tuple[Case, ...]]:
    """Every case, by the file it stands in."""
    return {path.stem: _load(path) for path in sorted(FOLDER.glob("*.py"))}


@cache
def generated(scrape_seconds: float) -> tuple[dict[str, Any], ...]:
    """Every group of records and alerts for this scrape interval.

    promtool evaluates all groups at one interval, whatever they say: what counts samples must count those.
    """
    seconds = min(Decimal(str(scrape_seconds)), LONGEST_SCRAPE_SECONDS)
    knobs = window_knobs(rule_windows(seconds, seconds))
    knobs |= {"sloSeconds": scrape_seconds, "longSeconds": scrape_seconds, "replicaLabel": names.REPLICA}
    rules = evaluate_mixin(knobs)
    return (*rules["records"]["groups"], *rules["alerts"]["groups"])


def _load(path: Path) -> tuple[Case, ...]:
    spec = importlib.util.spec_from_file_location(f"rule_cases_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases: tuple[Case, ...] = module.CASES
    return cases
