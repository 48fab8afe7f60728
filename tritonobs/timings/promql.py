"""Pieces of PromQL: selectors that quote any name, sums of rates, quantiles.

They span times, and depend on the scrape interval that Prometheus reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tritonobs import names
from tritonobs.units import format_duration, literal, parse_duration

if TYPE_CHECKING:
    from tritonobs.clients.prometheus import Target

MODEL_VERSION = (names.MODEL, names.VERSION)
MODEL_VERSION_STAGE = (*MODEL_VERSION, names.STAGE)

_UNKNOWN_SECONDS = 15.0


def labels_of(subject: tuple[str, ...]) -> dict[str, str]:
    """The labels that select a model, a version of it, or a stage of that version."""
    return dict(zip(MODEL_VERSION_STAGE, subject, strict=False))


class Asked(Protocol):
    """The client that is asked; `clients.prometheus.PrometheusClient` is one."""

    cluster: str
    cluster_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which series a question is about: of one cluster ("": of all), and of these models (none: of all).

    Series without the label are of every cluster: where no series has it, there is only one.
    """

    cluster: str = ""
    models: tuple[str, ...] = ()
    label: str = names.CLUSTER
    """The label with the cluster of a series."""

    @classmethod
    def asked(cls, prometheus: Asked, models: tuple[str, ...] = ()) -> Scope:
        """The cluster that this client asks about."""
        return cls(cluster=prometheus.cluster, label=prometheus.cluster_label, models=models)

    def about(self, models: Iterable[str]) -> Scope:
        """The same cluster, and these models of it."""
        return replace(self, models=tuple(sorted(set(models))))

    def of(self, *matchers: str) -> str:
        """`{…}` for series of the models."""
        return self.around(one_of(names.MODEL, self.models), *matchers)

    def around(self, *matchers: str) -> str:
        """`{…}` for series of the cluster that belong to no model, or are wanted of all of them."""
        return selector(one_of(self.label, ("", self.cluster)) if self.cluster else "", *matchers)


def one_of(label: str, values: Iterable[str]) -> str:
    """A matcher for exactly these values; no values match everything."""
    choices = sorted(set(values))
    if len(choices) == 1:
        return f"{label}={literal(choices[0])}"
    # Prometheus anchors matchers at both ends, so a name matches no longer one.
    return f"{label}=~{literal('|'.join(map(re.escape, choices)))}" if choices else ""


def selector(*matchers: str) -> str:
    """`{…}` of the matchers that are not empty; nothing without any."""
    kept = ",".join(matcher for matcher in matchers if matcher)
    return f"{{{kept}}}" if kept else ""


def over(function: str, metric: str, chosen: str, window_seconds: float) -> str:
    """What a function gives for the window: `increase(m{…}[5m])`."""
    return f"{function}({metric}{chosen}[{format_duration(window_seconds)}])"


def rate(metric: str, chosen: str, window_seconds: float) -> str:
    """The per-second rate of a counter over the window."""
    return over("rate", metric, chosen, window_seconds)


def summed(expression: str, by: Iterable[str]) -> str:
    """The sum over every label but these."""
    return f"sum by ({', '.join(by)}) ({expression})"


def rates(metric: str, chosen: str, window_seconds: float, by: Iterable[str]) -> str:
    """The per-second rate of a counter over the window, summed over every label but these."""
    return summed(rate(metric, chosen, window_seconds), by)


def quantile(ratio: float, metric: str, chosen: str, window_seconds: float, by: Iterable[str]) -> str:
    """A quantile of a histogram's buckets over the window."""
    buckets = rates(f"{metric}_bucket", chosen, window_seconds, (*by, names.LE))
    return f"histogram_quantile({ratio:g}, {buckets})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From `start` to `end`, Unix seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start


def scrape_interval_seconds(targets: Iterable[Target]) -> float:
    """The longest interval at which any target is scraped."""
    # Windows that hold enough scrapes of the slowest target do of every other.
    return max((_seconds(target.interval) for target in targets), default=_UNKNOWN_SECONDS)


def _seconds(interval: str) -> float:
    """Of Prometheus' own text; older releases do not report it."""
    try:
        return float(parse_duration(interval))
    except ValueError:
        return _UNKNOWN_SECONDS
