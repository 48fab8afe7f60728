"""The settings in the arguments of a model's `initialize`. A wrong one never fails the load of a model."""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tritonobs.stage import series

SCRAPE_INTERVAL_VARIABLE: Final = "TRITONOBS_SCRAPE_INTERVAL_SECONDS"
BOUNDS_PARAMETER: Final = "latency_buckets"
SINK_PARAMETER: Final = "metrics_sink"
HISTOGRAM: Final = "histogram"
SINKS: Final = ("counters", HISTOGRAM)

_DEFAULT_SCRAPE_INTERVAL_SECONDS: Final = 5.0
_LONGEST_SCRAPE_INTERVAL_SECONDS: Final = 300.0
_FLUSH_SECONDS: Final = {SINKS[0]: (0.5, 5.0), HISTOGRAM: (0.5, 1.0)}
"""Half a scrape interval is often enough, within these: a flush costs a call of Triton for each bucket.

Of histograms it costs one for each observation, and so many of them wait that they come often.
"""
_LATE_SECONDS: Final = 1.0
"""How late a scrape is on a machine with more work than cores; one in 400 was later than a quarter second."""
# Unlike a pid, never the same twice: not within a process, nor when a later process gets the same pid.
_serial = itertools.count(time.time_ns() // 1_000_000)
_log = logging.getLogger("tritonobs.stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a model's stages need to know.

    `model_instance` is empty where the arguments were not those of `initialize`: then metrics stay off.
    Within `scrape_seconds` every scraper was here: its interval and a quarter, or a second (below a second,
    the interval again), because scrapes are not exactly on time.
    """

    model: str
    version: str
    worker: str
    model_instance: str
    bounds_seconds: tuple[float, ...]
    sink: str
    scrape_seconds: float
    flush_interval_seconds: float

    @property
    def identity(self) -> dict[str, str]:
        """The labels of every series."""
        return {"model": self.model, "version": self.version, "worker": self.worker}


def read_settings(
    args: Mapping[str, str],
    latency_buckets: Sequence[float] | None = None,
    flush_interval_seconds: float | None = None,
) -> Settings:
    """Settings from arguments, the model's `parameters` and the environment; what is unusable is logged.

    Raises:
        ValueError: `latency_buckets`, which is code and not configuration, cannot be used.
    """
    model = str(args.get("model_name", ""))
    version = str(args.get("model_version", ""))
    instance = str(args.get("model_instance_name", ""))
    seconds = _scrape_interval()
    bounds = series.DEFAULT_BOUNDS_SECONDS
    if latency_buckets is not None:
        bounds = series.checked_bounds(tuple(map(float, latency_buckets)), latency_buckets)
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
    for parameter in (f"{BOUNDS_PARAMETER}.{version}", BOUNDS_PARAMETER):
        if parameter in parameters:
            bounds = _bounds(model, parameter, parameters[parameter], bounds)
            break
    if sink == HISTOGRAM:
        _tell_of_longer_bounds(model, bounds)
    shortest, longest = _FLUSH_SECONDS[sink]
    return Settings(
        model=model,
        version=version,
        # The rules and `timings.outcomes` cut off pid and serial number to get the model instance.
        worker=f"{instance}-{os.getpid()}-{next(_serial):x}",
        model_instance=instance,
        bounds_seconds=bounds,
        sink=sink,
        scrape_seconds=seconds + max(seconds / 4, min(seconds, _LATE_SECONDS)),
        flush_interval_seconds=(
            min(max(seconds / 2, shortest), longest)
            if flush_interval_seconds is None
            else flush_interval_seconds
        ),
    )


def _parameters(args: Mapping[str, str]) -> dict[str, str]:
    try:
        parameters = json.loads(args["model_config"]).get("parameters") or {}
        return {
            name: str(parameter["string_value"])
            for name, parameter in parameters.items()
            if name == SINK_PARAMETER or name.partition(".")[0] == BOUNDS_PARAMETER
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _log.warning(
            "model %s: its parameters cannot be read (%r): using defaults", args.get("model_name"), error
        )
        return {}


def _bounds(model: str, parameter: str, text: str, usual: tuple[float, ...]) -> tuple[float, ...]:
    try:
        return series.parse_bounds(text)
    except ValueError as error:
        _log.warning("model %s: parameter %s: %s: using the usual bounds", model, parameter, error)
        return usual


def _tell_of_longer_bounds(model: str, bounds: tuple[float, ...]) -> None:
    """Triton writes the bounds of a histogram itself; before version 3, Prometheus takes them as they are."""
    longer = [
        f"{series.format_bound(bound)} as {series.format_bound_of_triton(bound)}"
        for bound in bounds
        if series.format_bound_of_triton(bound) != series.format_bound(bound)
    ]
    if longer:
        _log.warning(
            "model %s: with metrics_sink histogram Triton writes the bounds %s: Prometheus 2 finds no SLO "
            "threshold there; use counters, or other bounds",
            model,
            ", ".join(longer),
        )


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
