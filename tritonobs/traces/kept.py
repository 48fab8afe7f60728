"""Slow requests as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tritonobs.traces.call import PHASES, Call, Interval, Traced
from tritonobs.traces.slowest import Slow


def to_json(models: Sequence[str], slow: Sequence[Slow]) -> dict[str, Any]:
    """Which models there are, and the slow requests that were asked for."""
    return {
        "models": list(models),
        "requests": [
            {
                "replica": each.traced.replica,
                "asked_for": each.traced.asked_for,
                "seconds": each.seconds,
                "call": _call_json(each.traced.call),
                "place": _place(each),
            }
            for each in slow
        ],
    }


def from_json(value: Mapping[str, Any]) -> tuple[Slow, ...]:
    """The slow requests of an answer.

    Raises:
        KeyError, TypeError, ValueError, IndexError: it is of another shape.
    """
    found = []
    for entry in value["requests"]:
        call = _call(entry["call"])
        traced = Traced(replica=str(entry["replica"]), call=call, asked_for=bool(entry["asked_for"]))
        found.append(Slow(traced=traced, call=list(call.everything())[int(entry["place"])]))
    return tuple(found)


def _place(slow: Slow) -> int:
    """Which of the calls of its request it is."""
    return next(place for place, call in enumerate(slow.traced.call.everything()) if call is slow.call)


def _call_json(call: Call) -> dict[str, Any]:
    return {
        "trace_id": call.trace_id,
        "model": call.model,
        "version": call.version,
        "outcome": call.outcome,
        "phases": {name: [part.start_ns, part.end_ns] for name, part in call.phases.items()},
        "calls": [_call_json(each) for each in call.calls],
    }


def _call(value: Mapping[str, Any]) -> Call:
    phases = value["phases"]
    return Call(
        trace_id=str(value["trace_id"]),
        model=str(value["model"]),
        version=str(value["version"]),
        outcome=value["outcome"],
        phases={
            name: Interval(start_ns=int(phases[name][0]), end_ns=int(phases[name][1]))
            for name in PHASES
            if name in phases
        },
        calls=tuple(_call(each) for each in value["calls"]),
    )
