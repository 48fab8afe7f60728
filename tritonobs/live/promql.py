"""Pieces of PromQL, spelled once: selectors with hostile names in them, sums of rates, quantiles."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

MODEL_VERSION = (names.MODEL, names.VERSION)
MODEL_VERSION_STAGE = (*MODEL_VERSION, names.STAGE)
COMPUTE_US = (names.TRITON_COMPUTE_INPUT_US, names.TRITON_COMPUTE_INFER_US, names.TRITON_COMPUTE_OUTPUT_US)


def quoted(text: str) -> str:
    """A PromQL string literal; JSON's escapes are among those PromQL reads."""
    return json.dumps(text, ensure_ascii=False)


def one_of(label: str, values: Iterable[str]) -> str:
    """A matcher for exactly these values; no values match everything."""
    choices = sorted(set(values))
    if len(choices) == 1:
        return f"{label}={quoted(choices[0])}"
    return f"{label}=~{quoted('|'.join(map(re.escape, choices)))}" if choices else ""


def selector(*matchers: str) -> str:
    """`{…}` of the matchers that are not empty; nothing without any."""
    kept = ",".join(matcher for matcher in matchers if matcher)
    return f"{{{kept}}}" if kept else ""


def rate(metric: str, chosen: str, window_seconds: float) -> str:
    """The per-second rate of a counter over the window."""
    return f"rate({metric}{chosen}[{format_duration(window_seconds)}])"


def summed(expression: str, by: Iterable[str]) -> str:
    """The sum over every label but these."""
    return f"sum by ({', '.join(by)}) ({expression})"


def quantile(ratio: float, metric: str, chosen: str, window_seconds: float, by: Iterable[str]) -> str:
    """A quantile of a histogram's buckets over the window."""
    buckets = summed(rate(f"{metric}_bucket", chosen, window_seconds), (*by, names.LE))
    return f"histogram_quantile({ratio:g}, {buckets})"
