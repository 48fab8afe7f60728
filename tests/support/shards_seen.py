"""What two ways to watch one fleet see of it: whether their records and alerts are alike."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from support.beside import OVER, TIMES, labelled
from tritonobs import names
from tritonobs.render.rules import evaluate_mixin, rules_config
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from support.beside import Beside, Row
    from tritonobs.plan.fleet import Plan

VICTIM: Final = "127.0.10.1"
"""A server whose shard is stopped."""
_LAST_SECONDS: Final = 20
SEEN: Final = "firing|pending"
"""What waits in one Prometheus is so there, too: groups are evaluated at other moments."""
NONE: Final = r"(?!)"
_LOOK_SECONDS: Final = 3
_SAMPLES: Final = 8
"""Of a record; on a busy machine several in a row may lack a scrape."""
_UNSTEADY = re.compile(
    r".+:mean1h|.+tokens_per_requests.+|.+_age_seconds:max"
    r"|slo:(?:sli_bad_requests:(?:sum.+|suspected.*)|error_budget_burn_fast:near|sli_\w+:rarely_sampled|sli_error:ratio_rate7d|period_.+|time_to_.+)"
)
_ROWS: Final = '{rate!~"breath.*"}'
"""What is recorded of an unsteady record beside a limit is no steadier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How many series were compared, and what was not alike."""

    compared: int
    different: Mapping[str, list[str]]
    """Of each record the rows that differ."""
    one: frozenset[Row]
    """What fired at the end of the calm in one Prometheus."""
    whole: frozenset[Row]
    apart: frozenset[Row]
    """What fired in one of them then and did not even wait in the other."""
    overflow: tuple[float | None, float | None]
    """Seconds until the overflow was told, by one Prometheus and by the tiers; None if it was not."""
    over: frozenset[Row]
    """What the tiers told in the overflow and one Prometheus did not."""
    part: str
    """What was stopped."""
    missing: Mapping[str, str]
    """The alert that says what was stopped."""
    told: frozenset[Row]
    """What the tiers told then and one Prometheus did not."""

    @property
    def false(self) -> tuple[str, ...]:
        """The alerts that the tiers told beside the one that a part is missing, and when first."""
        phases = {"part lost": self.told, "overflow": self.over, "calm": self.apart & self.whole}
        first = {row: phase for phase, rows in phases.items() for row in rows}
        found = [(dict(row), phase) for row, phase in first.items()]
        return tuple(
            sorted(
                f"{_called(one)} ({phase})" for one, phase in found if not self.missing.items() <= one.items()
            )
        )


def live(
    tiers: Beside,
    *,
    calm: float,
    over: float,
    stopped: float,
    tolerance: float,
    patience: float,
    expected: Collection[str] = (),
    ignored: str = NONE,
    after_calm: Callable[[], None] = lambda: None,
) -> Seen:
    """A calm, an overflow, then a part that is stopped, each so many seconds long.

    `expected` are names of alerts that end the calm. A busy machine takes longer, up to `patience` seconds,
    for them and for the alert that says what is missing.
    `ignored` are names of alerts that are not compared: a regular expression.
    """
    time.sleep(calm)
    compared, different = differences(tiers, records(tiers), tolerance=tolerance, seconds=patience)
    _wait(lambda: _all_fire(tiers, expected), patience)
    began, one_calm, whole_calm, apart = _fired(tiers, ignored, patience)
    after_calm()
    overflow = time.time()
    tiers.fleet.raise_traffic(OVER, TIMES)
    time.sleep(over)
    whole, one = (tiers.alerts(name, began) for name in ("whole", "one"))
    over_one = tiers.alerts("one", began, SEEN)
    part = tiers.part_of(VICTIM)
    stop = time.time()
    tiers.stop(part)
    time.sleep(stopped)
    missing = tiers.missing(part)
    _wait(lambda: any(missing.items() <= dict(row).items() for row in tiers.alerts("whole", stop)), patience)
    last = minded(tiers.alerts("whole", stop), ignored) - frozenset(tiers.alerts("one", began, SEEN))
    return Seen(
        compared=compared,
        different=different,
        one=one_calm,
        whole=whole_calm,
        apart=apart,
        overflow=(_since(one, overflow), _since(whole, overflow)),
        over=minded(whole, ignored) - frozenset(over_one),
        part=part,
        missing=missing,
        told=last,
    )


def _wait(wanted: Callable[[], bool], seconds: float) -> None:
    """Until that is so: a busy machine takes longer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not wanted():
        time.sleep(1)


def _all_fire(tiers: Beside, expected: Collection[str]) -> bool:
    now = time.time() - _LOOK_SECONDS
    return all(
        {dict(row)["alertname"] for row in tiers.alerts(name, now)} >= set(expected)
        for name in ("one", "whole")
    )


def _fired(
    tiers: Beside, ignored: str, seconds: float
) -> tuple[float, frozenset[Row], frozenset[Row], frozenset[Row]]:
    """Since when was looked, what has fired since then in either way, and what in one of them alone.

    Looks again for so many seconds, as `differences` does: on a busy machine the first records can take as
    long as alerts wait where waits are ten times shorter.
    """
    end = time.monotonic() + seconds
    while True:
        began = time.time() - _LAST_SECONDS
        one, whole = (frozenset(tiers.alerts(name, began)) for name in ("one", "whole"))
        known_one, known_whole = (frozenset(tiers.alerts(name, began, SEEN)) for name in ("one", "whole"))
        apart = minded((one - known_whole) | (whole - known_one), ignored)
        if not apart or time.monotonic() > end:
            return began, one, whole, apart
        time.sleep(_LOOK_SECONDS)


def minded(rows: Iterable[Row], ignored: str) -> frozenset[Row]:
    """The alerts without those whose names are ignored."""
    return frozenset(row for row in rows if not re.fullmatch(ignored, dict(row)["alertname"]))


def _called(labels: Mapping[str, str]) -> str:
    return " ".join(
        labels[name] for name in ("alertname", "model", "version", "slo", "shard") if name in labels
    )


def _since(fired: Mapping[Row, float], moment: float) -> float | None:
    wanted = {("alertname", names.ALERT_QPS_ABOVE_LIMIT), ("model", OVER)}
    return min((at - moment for row, at in fired.items() if wanted <= set(row)), default=None)


def records(tiers: Beside) -> dict[str, int]:
    """The records that both ways have, each with the seconds between two of its samples.

    Without those of moments, and of windows that are not full.
    """
    ours, theirs = (_recorded(tiers.plan(name)) for name in ("one", "whole"))
    return {
        name: seconds
        for name, seconds in ours.items()
        if name in theirs and not _UNSTEADY.fullmatch(name) and not re.fullmatch(tiers.UNSTEADY, name)
    }


def differences(
    tiers: Beside, names: Mapping[str, int], *, tolerance: float, seconds: float
) -> tuple[int, dict[str, list[str]]]:
    """How many series were compared, and of each record the rows that never were alike in both.

    Looks again for so many seconds at what is not alike: a scrape that was written a moment after an
    evaluation counts in the next one, and rates show it for as long as their window. A record that is made
    seldom is looked at until it had some samples.
    """
    compared, found = _look(tiers, names, tolerance)
    began = time.monotonic()
    until = {name: began + max(seconds, _SAMPLES * interval) for name, interval in names.items()}
    while again := {name: names[name] for name in found if time.monotonic() < until[name]}:
        time.sleep(_LOOK_SECONDS)
        now = _look(tiers, again, tolerance)[1]
        for name in again:
            found[name] = {row: said for row, said in now.get(name, {}).items() if row in found[name]}
        found = {name: rows for name, rows in found.items() if rows}
    return compared, {name: list(rows.values()) for name, rows in found.items()}


def _look(tiers: Beside, names: Mapping[str, int], tolerance: float) -> tuple[int, dict[str, dict[Row, str]]]:
    """What the middle of twelve seconds says; of records that are made less often, their last samples."""
    at = time.time()
    one, whole = tiers.client("one"), tiers.client("whole")
    compared = 0
    found: dict[str, dict[Row, str]] = {}
    for name, seconds in names.items():
        jittery = re.fullmatch(tiers.JITTERY, name) is not None
        middle = f"quantile_over_time(0.5, {name}{_ROWS}[{tiers.window(seconds)}s])"
        query = f"avg_over_time({name}{_ROWS}[{tiers.JITTER_SECONDS}s])" if jittery else middle
        allowed = tolerance + tiers.JITTER if jittery else tolerance
        ours, theirs = (
            {labelled(row.labels): row.value for row in client.query(query, at=at)} for client in (one, whole)
        )
        compared += len(ours)
        wrong = {
            row: f"{dict(row)}: {ours.get(row)} in one, {theirs.get(row)} in tiers"
            for row in sorted({*ours, *theirs})
            if row not in ours or row not in theirs or not _alike(ours[row], theirs[row], allowed)
        }
        if wrong:
            found[name] = wrong
    return compared, found


def _alike(one: float, other: float, tolerance: float) -> bool:
    # Neither is a number where nothing was there to divide by.
    if one != one or other != other:  # noqa: PLR0124 (finds NaN)
        return one != one and other != other  # noqa: PLR0124 (finds NaN)
    return abs(one - other) <= tolerance * max(abs(one), abs(other)) + 1e-9


def _recorded(plan: Plan) -> dict[str, int]:
    groups = evaluate_mixin(rules_config(plan))["records"]["groups"]
    return {
        rule["record"]: int(parse_duration(group["interval"]))
        for group in groups
        for rule in group["rules"]
        if "record" in rule
    }
