"""The windows the rules look back over, made to fit the scrape interval, as the mixin computes them, too."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWindows:
    """Windows of the rules, as PromQL writes them. Two of them are in the names of records.

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
