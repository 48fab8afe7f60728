"""One replica is slower than the others that serve the same model."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.cause import Cause, Evidence
from tritonobs.units import format_latency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.live.view import View

ID = "slow_replica"
_FACTOR = 1.7
_NOTABLE_SECONDS = 0.003
_FEWEST_REQUESTS = 20
"""To a replica in a window: one slow request of five is no slow machine."""


def judge(view: View) -> Iterator[Cause]:
    """Replicas whose mean request time stands out from the middle of the others."""
    now, before = _means(view), _means(view, before=True)
    for (model, version, replica), mean in sorted(now.items()):
        others = _others(now, model, version, replica)
        if not others or mean < _FACTOR * median(others) or mean - median(others) < _NOTABLE_SECONDS:
            continue
        was, others_before = before.get((model, version, replica)), _others(before, model, version, replica)
        always = was is not None and bool(others_before) and was >= _FACTOR * median(others_before)
        yield Cause(
            check=ID,
            place=(model, version, replica),
            sentence=(
                f"{replica} answers {model} in {format_latency(mean)}, the other replicas in "
                f"{format_latency(median(others))}" + (", and did so before" if always else "")
            ),
            confidence=0.55 if always else 0.92,
            evidence=(
                Evidence(what=f"mean of {model} on {replica}", before=was, now=mean, unit="seconds"),
                Evidence(
                    what="middle of the others",
                    before=median(others_before) if others_before else None,
                    now=median(others),
                    unit="seconds",
                ),
            ),
            next_steps=(
                f"look at the machine of {replica}: other work on it, its clock speed, its disk, its GPU",
                "take it out of the load balancer until it keeps up",
            ),
            asked=("replica_us", "replica_requests"),
        )


def _means(view: View, *, before: bool = False) -> dict[tuple[str, str, str], float]:
    labels = (names.MODEL, names.VERSION, names.INSTANCE)
    spent = view.rows("replica_us", *labels, before=before)
    rates = view.rows("replica_requests", *labels, before=before)
    seconds = (view.snapshot.baseline if before else view.snapshot.incident).seconds
    return {
        (key[0], key[1], key[2]): spent.get(key, 0.0) / 1e6 / rate
        for key, rate in rates.items()
        if rate * seconds > _FEWEST_REQUESTS
    }


def _others(means: dict[tuple[str, str, str], float], model: str, version: str, replica: str) -> list[float]:
    return [mean for key, mean in means.items() if key[:2] == (model, version) and key[2] != replica]
