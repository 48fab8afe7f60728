"""Traffic of a drill: steady, or with so many callers at once."""

from __future__ import annotations

from dataclasses import dataclass

from tritonobs.lab.load.schedule import Segment

HOURS = 4 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Requests to one model: images or prompts of a mix, at the rates of the segments.

    A request is given up after `patience_seconds`; while `most_waiting` have no answer, no more are sent.
    """

    segments: tuple[Segment, ...]
    model: str = "inspect"
    version: str = ""
    mix: str = "1280x720"
    patience_seconds: float = 8.0
    most_waiting: int = 200


def steady(qps: float, *, model: str = "inspect", version: str = "", mix: str = "1280x720") -> Stream:
    """The same rate until it is stopped."""
    return Stream(segments=(Segment(qps=qps, seconds=HOURS),), model=model, version=version, mix=mix)


def callers(number: int, *, model: str, mix: str) -> Stream:
    """So many requests under way at any time: more come each second than the model answers."""
    segments = (Segment(qps=float(number), seconds=HOURS),)
    return Stream(segments=segments, model=model, mix=mix, patience_seconds=60.0, most_waiting=number)


CALM = (steady(3.0),)
"""Ordinary traffic: well within the limits of the example fleet."""
