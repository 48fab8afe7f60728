"""What the arguments of a model's `initialize` say. Nothing wrong in here ever fails the load of a model."""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tritonobs.stage import series

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRAPE_INTERVAL_VARIABLE: Final = "TRITONOBS_SCRAPE_INTERVAL_SECONDS"
BOUNDS_PARAMETER: Final = "latency_buckets"
SINK_PARAMETER: Final = "metrics_sink"
SINKS: Final = ("counters", "histogram")

_DEFAULT_SCRAPE_INTERVAL_SECONDS: Final = 5.0
_LONGEST_SCRAPE_INTERVAL_SECONDS: Final = 300.0
_LATE_SECONDS: Final = 1.0
"""How late a scrape is on a machine with more work than cores; one in 400 was later than a quarter second."""
# Unlike a pid, never the same twice: not within a process, nor when a later process gets the same pid.
_serial = itertools.count(time.time_ns() // 1_000_000)
_log = logging.getLogger("tritonobs.stage")


@dataclass(frozen=True)
class Settings:
    """What a model's stages need to know.

    `model_instance` is empty where the arguments were not those of `initialize`: then metrics stay off.
    Within `scrape_seconds` every scraper was here: its interval and a quarter, or a second (below a second,
    the interval again), because scrapes are not on the dot.
    """

    identity: Mapping[str, str]
    model_instance: str
    bounds_seconds: tuple[float, ...]
    sink: str
    scrape_seconds: float


def read_settings(args: Mapping[str, str]) -> Settings:
    """Settings from arguments, the model's `parameters` and the environment; what is unusable is logged."""
    model = str(args.get("model_name", ""))
    instance = str(args.get("model_instance_name", ""))
    seconds = _scrape_interval()
    parameters = _parameters(args)
    sink = parameters.get(SINK_PARAMETER, SINKS[0])
    if sink not in SINKS:
        _log.warning(
            "model %s: parameter %s is %r, allowed are %s: using %s",
            model,
            SINK_PARAMETER,
            sink,
            SINKS,
            SINKS[0],
        )
        sink = SINKS[0]
    return Settings(
        identity={
            "model": model,
            "version": str(args.get("model_version", "")),
            "worker": f"{instance}-{os.getpid()}-{next(_serial):x}",
        },
        model_instance=instance,
        bounds_seconds=_bounds(model, parameters.get(BOUNDS_PARAMETER)),
        sink=sink,
        scrape_seconds=seconds + max(seconds / 4, min(seconds, _LATE_SECONDS)),
    )


def _parameters(args: Mapping[str, str]) -> dict[str, str]:
    try:
        parameters = json.loads(args["model_config"]).get("parameters") or {}
        return {
            name: str(parameters[name]["string_value"])
            for name in (BOUNDS_PARAMETER, SINK_PARAMETER)
            if name in parameters
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _log.warning(
            "model %s: its parameters cannot be read (%r): using defaults", args.get("model_name"), error
        )
        return {}


def _bounds(model: str, text: str | None) -> tuple[float, ...]:
    if text is None:
        return series.DEFAULT_BOUNDS_SECONDS
    try:
        return series.parse_bounds(text)
    except ValueError as error:
        _log.warning("model %s: parameter %s: %s: using the default bounds", model, BOUNDS_PARAMETER, error)
        return series.DEFAULT_BOUNDS_SECONDS


def _scrape_interval() -> float:
    text = os.environ.get(SCRAPE_INTERVAL_VARIABLE, "")
    try:
        seconds = float(text) if text else _DEFAULT_SCRAPE_INTERVAL_SECONDS
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _LONGEST_SCRAPE_INTERVAL_SECONDS:
        _log.warning(
            "%s is %r, allowed are 0 to %g seconds: using %g",
            SCRAPE_INTERVAL_VARIABLE,
            text,
            _LONGEST_SCRAPE_INTERVAL_SECONDS,
            _DEFAULT_SCRAPE_INTERVAL_SECONDS,
        )
        return _DEFAULT_SCRAPE_INTERVAL_SECONDS
    return seconds
