"""Language models: are tokens on time, and what delays them?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layout import Knobs, board
from panels import heatmap, row, stat, timeline, timeseries
from signals import Signal, alerts, language
from variables import LANGUAGE_MODEL, VERSION

if TYPE_CHECKING:
    from grafanalib.core import Dashboard


def _worst(signal: Signal, how: str = "max") -> Signal:
    """One number of all chosen models."""
    return replace(signal, expr=f"{how}({signal.expr})", legend=how, colour="")


def build(knobs: Knobs) -> Dashboard:
    """The board for a fleet with these knobs."""
    return board(
        "language",
        "Language models",
        "Are tokens on time, and what delays them? TTFT and inter-token latency, tokens and their limits, "
        "the engine's queue and its cache.",
        (
            row(
                "Now",
                stat(language.FIRST_OF_TARGET),
                stat(language.LATER_OF_TARGET),
                stat(_worst(language.TOKENS_IN, "sum"), title="Tokens in"),
                stat(_worst(language.TOKENS_OUT, "sum"), title="Tokens out"),
                stat(language.FULLEST),
                stat(_worst(language.WAITING, "sum"), title="Waiting"),
                timeline(alerts.TIMELINE, size=(24, 7)),
            ),
            row(
                "Latency",
                timeseries(
                    language.FIRST, language.FIRST_OF_FEW, limits=(language.FIRST_TARGET,), size=(8, 8)
                ),
                timeseries(
                    language.LATER, language.LATER_OF_FEW, limits=(language.LATER_TARGET,), size=(8, 8)
                ),
                timeseries(language.GOODPUT, size=(8, 8)),
                heatmap(language.FIRST_HEAT, size=(12, 9)),
                heatmap(language.LATER_HEAT, size=(12, 9), counted="short"),
            ),
            row(
                "Tokens",
                timeseries(language.TOKENS_IN, limits=(language.LIMIT_IN,), size=(8, 8)),
                timeseries(language.TOKENS_OUT, limits=(language.LIMIT_OUT,), size=(8, 8)),
                timeseries(language.PER_REQUEST, size=(8, 8)),
            ),
            row(
                "Engine",
                timeseries(language.RUNNING, size=(8, 8)),
                timeseries(language.WAITING, size=(8, 8)),
                timeseries(language.KV_CACHE, size=(8, 8)),
                timeseries(language.PREEMPTIONS, size=(8, 8)),
                timeseries(language.PREFIX, size=(8, 8)),
                timeseries(language.WHOLE, language.WHOLE_OF_FEW, size=(8, 8)),
            ),
        ),
        variables=(LANGUAGE_MODEL, VERSION),
        knobs=knobs,
    )


dashboard = build(Knobs())
