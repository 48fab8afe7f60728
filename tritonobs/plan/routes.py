"""Which alerts go to whom, how fast, and when not at all, as the plan knows it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, get_args

from tritonobs.spec.routes import AlertSeverity, Weekday

if TYPE_CHECKING:
    from tritonobs.spec.notify import NotifySpec
    from tritonobs.spec.routes import MuteTimeSpec, SpanSpec, TimingSpec

WEEKDAYS: Final[tuple[str, ...]] = get_args(Weekday)
_MIDNIGHT, _END_OF_DAY = "00:00", "24:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch within one day, on these weekdays (on all of them when there are none)."""

    begin: str
    end: str
    weekdays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteTime:
    """When routes that name it stay silent."""

    name: str
    spans: tuple[Span, ...]
    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Alerts whose labels have one of the given values go to these receivers (`kind/name`)."""

    match: tuple[tuple[str, tuple[str, ...]], ...]
    receivers: tuple[str, ...]
    mute: tuple[str, ...] = ()
    go_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How fast alerts of one severity are told.

    Alertmanager gives a notification the time of one interval, at least 10 s, before it begins anew.
    `tritonobs serve` merges groups, so that short waits flood nobody.
    """

    severity: AlertSeverity
    wait_seconds: Decimal
    interval_seconds: Decimal
    repeat_seconds: Decimal


# A page may wait a second for company; a ticket may wait until its whole family has come.
DEFAULT_TIMINGS: Final = (
    Timing(
        severity="critical",
        wait_seconds=Decimal(1),
        interval_seconds=Decimal(10),
        repeat_seconds=Decimal(14_400),
    ),
    Timing(
        severity="warning",
        wait_seconds=Decimal(10),
        interval_seconds=Decimal(60),
        repeat_seconds=Decimal(43_200),
    ),
    Timing(
        severity="info",
        wait_seconds=Decimal(60),
        interval_seconds=Decimal(300),
        repeat_seconds=Decimal(259_200),
    ),
)


def build_timings(spec: NotifySpec) -> tuple[Timing, ...]:
    """The usual timings, with what the fleet file says otherwise."""
    return tuple(_timing(usual, spec.timing.get(usual.severity)) for usual in DEFAULT_TIMINGS)


def _timing(usual: Timing, given: TimingSpec | None) -> Timing:
    if given is None:
        return usual
    return Timing(
        severity=usual.severity,
        wait_seconds=usual.wait_seconds if given.wait is None else given.wait,
        interval_seconds=usual.interval_seconds if given.interval is None else given.interval,
        repeat_seconds=usual.repeat_seconds if given.repeat is None else given.repeat,
    )


def build_routes(spec: NotifySpec) -> tuple[Route, ...]:
    """The routes, in their order."""
    return tuple(
        Route(match=tuple(route.match.items()), receivers=route.to, mute=route.mute, go_on=route.go_on)
        for route in spec.routes
    )


def build_mute_times(spec: NotifySpec) -> tuple[MuteTime, ...]:
    """The mute times; spans over midnight are cut there."""
    return tuple(_mute_time(name, mute, spec.timezone) for name, mute in spec.mute_times.items())


def _mute_time(name: str, mute: MuteTimeSpec, timezone: str) -> MuteTime:
    spans = tuple(piece for span in mute.spans for piece in _pieces(span))
    return MuteTime(name=name, spans=spans, timezone=mute.timezone or timezone)


def _pieces(span: SpanSpec) -> tuple[Span, ...]:
    if span.begin < span.end:
        return (Span(begin=span.begin, end=span.end, weekdays=span.weekdays),)
    evening = Span(begin=span.begin, end=_END_OF_DAY, weekdays=span.weekdays)
    if span.end == _MIDNIGHT:
        return (evening,)
    following = tuple(WEEKDAYS[(WEEKDAYS.index(day) + 1) % len(WEEKDAYS)] for day in span.weekdays)
    return evening, Span(begin=_MIDNIGHT, end=span.end, weekdays=following)
