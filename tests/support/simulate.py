"""A Triton fleet that never ran: what Prometheus would have scraped from it, sample by sample.

Rates, times and states are levels: a number, or `(until_minute, value)` steps of which the last goes on
to the end; None is a time without the series. Requests are whole: at 0.01 a second there is one every 100 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tritonobs import names
from tritonobs.stage.series import OUTCOMES, format_bound

if TYPE_CHECKING:
    from collections.abc import Callable

Level: TypeAlias = float | Sequence[tuple[float, float | None]] | None
Values: TypeAlias = list[float | None]

JOB = "triton"
REASONS = ("REJECTED", "CANCELED", "BACKEND", "OTHER")
# Not the default, three times as many: a world of them takes three times as long to evaluate.
BOUNDS_SECONDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075),
    *(0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_MICRO = 1e6


def series_name(name: str, labels: Mapping[str, str]) -> str:
    """`name{label="value"}` as PromQL writes it; empty labels are left out, hostile values survive."""
    pairs = (f"{label}={_quoted(value)}" for label, value in labels.items() if value)
    return f"{name}{{{','.join(pairs)}}}"


def but_at(base: float | None, others: Mapping[float, float | None]) -> Level:
    """One value at all scrapes, 15 s apart, but those at these minutes."""
    steps = [step for minute in sorted(others) for step in ((minute, base), (minute + 0.25, others[minute]))]
    return [*steps, (999, base)]


class World:
    """Series over `minutes`, one sample every `scrape_seconds`, the first at 0."""

    def __init__(self, *, minutes: float, scrape_seconds: float = 15) -> None:
        self.minutes = minutes
        self.scrape_seconds = scrape_seconds
        self.times = [step * scrape_seconds for step in range(int(minutes * 60 / scrape_seconds) + 1)]
        self.series: dict[str, Values] = {}

    def gauge(self, name: str, level: Level, **labels: str) -> World:
        """A series that reads its level."""
        return self._put(name, labels, self._levels(level))

    def counter(self, name: str, per_second: Level, **labels: str) -> World:
        """A series that grows at its level, in whole numbers; after a gap it begins at 0 again."""
        return self._put(name, labels, self._whole(per_second))

    def info(self, model: str, version: str = "", **labels: str) -> World:
        """The row of the fleet file for a model version: kind, pipeline, team, tier."""
        return self.gauge(names.MODEL_INFO, 1, model=model, version=version, **{"kind": "model", **labels})

    def triton(
        self,
        model: str,
        version: str = "1",
        *,
        replica: str = "triton-1",
        qps: Level = 0,
        failures: Mapping[str, Level] | None = None,
        seconds: Level = 0.05,
        queue: Level = 0.004,
        compute: Level = 0.04,
        batch: float = 1,
        items: float = 1,
        pending: Level = 0,
        **labels: str,
    ) -> World:
        """A loaded model version: `qps` successes a second, `batch` requests an execution.

        Raises:
            ValueError: a request is shorter than its queue and its compute; `seconds` is all of it.
        """
        self._require_whole(f"{model} {version}", seconds, queue, compute)
        own = {"job": JOB, "instance": f"{replica}:8002", "replica": replica, **labels}
        own |= {"model": model, "version": version}
        done = self._whole(qps)
        self._put(names.TRITON_SUCCESS, own, done)
        for reason in REASONS:
            level = (failures or {}).get(reason, 0 if not isinstance(qps, Sequence) else _present(qps))
            self.counter(names.TRITON_FAILURE, level, **own, reason=reason)
        for name, charge in (
            (names.TRITON_REQUEST_US, seconds),
            (names.TRITON_QUEUE_US, queue),
            (names.TRITON_COMPUTE_INFER_US, compute),
            (names.TRITON_COMPUTE_INPUT_US, 0),
            (names.TRITON_COMPUTE_OUTPUT_US, 0),
        ):
            micros = [_MICRO * (each or 0) for each in self._levels(charge)]
            self._put(name, own, self._charged(done, micros))
        self._put(names.TRITON_INFERENCES, own, self._charged(done, self._levels(items)))
        self._put(names.TRITON_EXECUTIONS, own, self._charged(done, self._levels(1 / batch)))
        return self.gauge(names.TRITON_PENDING, pending if qps is not None else None, **own)

    def worker(
        self,
        model: str,
        version: str = "1",
        *,
        replica: str = "triton-1",
        slot: str = "0",
        pid: int = 100,
        alive: Level = 1,
        outcomes: Mapping[str, Level] | None = None,
        **labels: str,
    ) -> World:
        """A worker of a Python model: it beats while `alive` is 1, is stuck at 0, gone at None."""
        own = {"job": JOB, "instance": f"{replica}:8002", "replica": replica, **labels, "model": model}
        own |= {"version": version, "worker": f"{model}_0_{slot}-{pid}-1a2b3c"}
        last: float = 0
        beats: Values = []
        for time, state in zip(self.times, self._levels(alive), strict=True):
            last = 1e9 + time if state else last
            beats.append(None if state is None else last)
        self._put(names.HEARTBEAT, own, beats)
        for outcome in OUTCOMES:
            level = (outcomes or {}).get(outcome, 0 if not isinstance(alive, Sequence) else _present(alive))
            self.counter(names.REQUESTS, level, **own, outcome=outcome)
        return self

    def stage(
        self,
        model: str,
        stage: str,
        version: str = "1",
        *,
        replica: str = "triton-1",
        qps: Level,
        times: Mapping[float, Level],
        pid: int = 100,
    ) -> World:
        """A stage observed `qps` times a second; `times` are the seconds it takes, with the share of each."""
        own = {
            "job": JOB,
            "instance": f"{replica}:8002",
            "replica": replica,
            "model": model,
            "version": version,
        }
        own |= {"worker": f"{model}_0_0-{pid}-1a2b3c", "stage": stage}
        done = self._whole(qps)

        shares = [(took, [each or 0 for each in self._levels(share)]) for took, share in times.items()]

        def each_costs(cost: Callable[[float], float]) -> list[float]:
            """What a request costs at each scrape, if one that took so long costs that."""
            return [sum(cost(took) * share[at] for took, share in shares) for at in range(len(self.times))]

        for bound in (*BOUNDS_SECONDS, math.inf):
            labels = {**own, "le": format_bound(bound)}
            below = each_costs(lambda took, bound=bound: took <= bound)
            self._put(f"{names.STAGE_DURATION}_bucket", labels, self._charged(done, below))
        self._put(f"{names.STAGE_DURATION}_count", own, done)
        spent = self._charged(done, each_costs(lambda took: took))
        return self._put(f"{names.STAGE_DURATION}_sum", own, spent)

    def outage(self, replica: str, *steps: tuple[float, float]) -> World:
        """Nothing of the replica is scraped between these minutes; its `up` is given, so call this last."""
        lost = [any(60 * start <= time < 60 * end for start, end in steps) for time in self.times]
        for name, values in self.series.items():
            if f'replica="{replica}"' in name:
                self.series[name] = [
                    None if gone else value for gone, value in zip(lost, values, strict=True)
                ]
        own = {"job": JOB, "instance": f"{replica}:8002", "replica": replica}
        self._put("up", own, [0 if gone else 1 for gone in lost])
        return self

    def emptied(self, replica: str, *steps: tuple[float, float]) -> World:
        """Nothing of the replica's page is kept between these minutes, while it answers; call this last."""
        self.outage(replica, *steps)
        lost = [any(60 * start <= time < 60 * end for start, end in steps) for time in self.times]
        own = {"job": JOB, "instance": f"{replica}:8002", "replica": replica}
        self._put("up", own, [1] * len(lost))
        return self._put("scrape_samples_post_metric_relabeling", own, [0 if gone else 100 for gone in lost])

    def _require_whole(self, what: str, seconds: Level, *parts: Level) -> None:
        """Refuse times that no Triton counts: a case on them would be right, or wrong, for another reason."""
        levels = (self._levels(level) for level in (seconds, *parts))
        for time, whole, *charged in zip(self.times, *levels, strict=True):
            if whole is not None and sum(each or 0 for each in charged) > whole + 1e-9:
                found = f"queue and compute are {sum(each or 0 for each in charged):g} s of seconds={whole:g}"
                raise ValueError(f"{what} at {time / 60:g} min: {found}; give `seconds` at least their sum")

    def _put(self, name: str, labels: Mapping[str, str], values: Values) -> World:
        self.series[series_name(name, labels)] = values
        return self

    def _whole(self, per_second: Level) -> Values:
        """Whole requests so far; what came since the last scrape came at the level of that time."""
        values: Values = []
        exact = 0.0
        before: float | None = None
        for now in self._levels(per_second):
            exact = 0.0 if before is None else exact + before * self.scrape_seconds
            before = now
            values.append(None if before is None else math.floor(exact + 1e-6))
        return values

    def _charged(self, done: Values, costs: Sequence[float]) -> Values:
        """What so many requests were charged so far, each by what it cost at the last scrape."""
        values: Values = []
        total, before, cost = 0.0, 0.0, costs[0]
        for now, next_cost in zip(done, costs, strict=True):
            if now is None:
                total, before = 0.0, 0.0
            else:
                total, before = total + (now - before) * cost, now
            cost = next_cost
            values.append(None if now is None else round(total, 9))
        return values

    def _levels(self, level: Level) -> Values:
        """What the level is at each scrape."""
        if not isinstance(level, Sequence):
            return [level] * len(self.times)
        values: Values = []
        at = 0
        for time in self.times:
            while at < len(level) - 1 and time >= 60 * level[at][0]:
                at += 1
            values.append(level[at][1])
        return values


def _present(level: Sequence[tuple[float, float | None]]) -> Level:
    """0 wherever the level is anything, absent where it is absent."""
    return [(until, None if value is None else 0) for until, value in level]


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def of_model(model: str) -> dict[str, str]:
    """Labels of a model on a server of its name."""
    return {"model": model, "version": "1", "replica": model}


def of_slo(model: str, version: str = "") -> dict[str, str]:
    """Labels of an SLO of a model, or of a version of it."""
    return {"model": model, "version": version, "slo": "a"}
