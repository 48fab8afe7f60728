"""The windows the rules look back over, made to fit the scrape interval."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tritonobs.units import format_duration

SCRAPES_PER_WINDOW = 4
"""Fewer samples in a window, and one lost scrape leaves `rate` nothing to compare."""
LONGEST_SCRAPE_SECONDS = Decimal(60)
"""Above this the base window of 5 m would hold fewer than five scrapes."""

_SHORTEST_SECONDS = Decimal(10)
_MEDIUM_SECONDS = Decimal(60)
_BASE_SECONDS = Decimal(300)
_STAGE_EVALUATION_SECONDS = Decimal(15)
_SLO_EVALUATION_SECONDS = Decimal(30)
_LONG_EVALUATION_SECONDS = Decimal(300)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWindows:
    """Windows and evaluation intervals of the rules; the properties are texts as PromQL writes them.

    `short` reads Triton's counters, `medium` reads the stages' histograms, `base` is made of both.
    """

    scrape_seconds: Decimal
    evaluation_seconds: Decimal

    @property
    def short_seconds(self) -> Decimal:
        """The shortest window that holds enough scrapes."""
        return max(_SHORTEST_SECONDS, SCRAPES_PER_WINDOW * self.scrape_seconds)

    @property
    def medium_seconds(self) -> Decimal:
        """One minute, or the short window where that is longer."""
        return max(_MEDIUM_SECONDS, self.short_seconds)

    @property
    def short(self) -> str:
        """`20s` at a scrape every 5 s."""
        return format_duration(self.short_seconds)

    @property
    def medium(self) -> str:
        """`1m` at every scrape interval up to 15 s."""
        return format_duration(self.medium_seconds)

    @property
    def base(self) -> str:
        """Always `5m`."""
        return format_duration(_BASE_SECONDS)

    @property
    def evaluation(self) -> str:
        """How often traffic and limits are evaluated."""
        return format_duration(self.evaluation_seconds)

    @property
    def stage_evaluation(self) -> str:
        """How often stages are: their histograms are the many series, and nobody needs them every second."""
        return format_duration(max(_STAGE_EVALUATION_SECONDS, self.evaluation_seconds))

    @property
    def long_evaluation_seconds(self) -> Decimal:
        """How often the long windows get a sample: 288 a day are enough for a budget of a month."""
        return _LONG_EVALUATION_SECONDS

    @property
    def slo_evaluation_seconds(self) -> Decimal:
        """How often error budgets are; counts over an hour are sums of samples this far apart."""
        return max(_SLO_EVALUATION_SECONDS, self.evaluation_seconds)


def rule_windows(scrape_seconds: Decimal, evaluation_seconds: Decimal) -> RuleWindows:
    """The windows for a Prometheus that scrapes and evaluates this often.

    Raises:
        ValueError: an interval is not above 0, or longer than `LONGEST_SCRAPE_SECONDS`.
    """
    for name, seconds in (("scrape", scrape_seconds), ("evaluation", evaluation_seconds)):
        if not 0 < seconds <= LONGEST_SCRAPE_SECONDS:
            allowed = f"above 0 s and at most {LONGEST_SCRAPE_SECONDS} s"
            raise ValueError(f"{name} interval of {seconds} s: allowed is {allowed}")
    return RuleWindows(scrape_seconds=scrape_seconds, evaluation_seconds=evaluation_seconds)
