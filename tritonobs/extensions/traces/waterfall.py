"""The slowest requests for people: asked of a receiver, told in lines, drawn as waterfalls and as a page.

A waterfall shows which call waited, and which worked.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from tritonobs.clients.transport import Transport, as_documented
from tritonobs.extensions.traces.call import Call, Interval, Phase
from tritonobs.extensions.traces.slowest import ANSWER, Answer, Slow
from tritonobs.report.console import Column, Line, Table, plain
from tritonobs.report.formats import latency
from tritonobs.units import format_clock, format_moment

_PATIENCE_SECONDS = 10.0
"""A receiver gives up itself after nine, and says so."""
_WIDTH = 32
_FEW = 3
_MARKS: dict[Phase, str] = {"request": "·", "queue": "░", "input": "▒", "infer": "█", "output": "▒"}
_COLUMNS = (
    Column(title="call", wrap=True),
    Column(title="░ waits ▒ in, out █ infers"),
    Column(title="begins", right=True),
    Column(title="takes", right=True),
    Column(title="queue", right=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A piece of a drawn request; `left` and `width` are shares of the whole, 0 to 1."""

    phase: Phase
    left: float
    width: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A call in a drawn request."""

    call: Call
    depth: int
    begins: float
    bars: tuple[Bar, ...]


def rows(slow: Slow) -> tuple[Row, ...]:
    """The calls of the request, each below its caller, in the order in which they began."""
    return tuple(_rows(slow.traced.call, slow.traced.call.request, 0))


def sentence(slow: Slow) -> str:
    """Where this request spent most of its time."""
    whole = slow.traced.call
    found = max(_leaves(whole), key=lambda leaf: leaf[2], default=None)
    if found is None or not whole.request.seconds:
        return f"No spans inside this request; its outcome is {whole.outcome}."
    call, phase, seconds = found
    what = {"queue": "waiting in the queue of", "infer": "inside"}.get(phase, f"{phase} of")
    took = whole.request.seconds
    # Of a model that others call the whole request is drawn, and explained.
    it = "Most of it" if slow.call == whole else f"Child of a request to {whole.model}; most of that request"
    return f"{it} went {what} {call.model}: {latency(seconds)}, {seconds / took:.0%} of {latency(took)}."


def waterfall(slow: Slow) -> Table:
    """The request as a table with bars."""
    call = slow.call
    asked = (
        ("Traced because its client sent a traceparent: not in the sample.",) if slow.traced.asked_for else ()
    )
    return Table(
        title=f"{call.model} version {call.version} on {slow.traced.replica}: {latency(slow.seconds)}, "
        f"{_clock(slow.traced.call)}, trace {call.trace_id}",
        columns=_COLUMNS,
        lines=tuple(_line(row, marked=row.call == call) for row in rows(slow)),
        notes=(sentence(slow), *asked),
    )


def slow_table(model: str, slow: Sequence[Slow]) -> Table:
    """The slow requests of a model, one a line."""
    return Table(
        title=f"{len(slow)} slowest traced requests to {model}",
        columns=(
            Column(title="takes", right=True),
            Column(title="queue", right=True),
            Column(title="at (UTC)"),
            Column(title="replica"),
            Column(title="called by", wrap=True),
            Column(title="trace", wrap=True),
        ),
        lines=tuple(
            Line(
                cells=(
                    latency(each.seconds),
                    latency(_seconds(each.call, "queue")),
                    _clock(each.call).removesuffix(" UTC"),
                    each.traced.replica,
                    "client" if each.call == each.traced.call else each.traced.call.model,
                    each.call.trace_id,
                )
            )
            for each in slow
        ),
    )


def slow_lines(model: str, slow: Sequence[Slow]) -> Iterator[str]:
    """The slowest few requests in sentences, and the command that draws them; nothing without any."""
    if slow:
        yield plain(f"Slowest traced requests to {model}:")
    for each in slow[:_FEW]:
        at = _clock(each.call)
        yield plain(f"  {latency(each.seconds)} on {each.traced.replica} at {at}. {sentence(each)}")
    if slow:
        yield plain(f"  > tritonobs traces slow --model {shlex.quote(model)}")


def _line(row: Row, *, marked: bool) -> Line:
    drawn = [" "] * _WIDTH
    # `request` comes first and spans the whole call: the other phases are drawn over it.
    for bar in row.bars:
        first = min(_WIDTH - 1, int(bar.left * _WIDTH))
        # One character at least, or a short wait would not be seen.
        last = max(first + 1, min(_WIDTH, round((bar.left + bar.width) * _WIDTH)))
        drawn[first:last] = _MARKS[bar.phase] * (last - first)
    return Line(
        cells=(
            "  " * row.depth + row.call.model,
            "".join(drawn),
            f"+{latency(row.begins)}",
            latency(row.call.request.seconds),
            latency(_seconds(row.call, "queue")),
        ),
        style="yellow" if marked else "",
    )


def _rows(call: Call, whole: Interval, depth: int) -> Iterator[Row]:
    # Both ends may be the same nanosecond (`Interval.sound` allows it), and shares divide by this.
    length = max(1, whole.end_ns - whole.start_ns)

    def bar(phase: Phase, part: Interval) -> Bar:
        left = min(1.0, max(0.0, (part.start_ns - whole.start_ns) / length))
        return Bar(
            phase=phase,
            left=left,
            width=min(1 - left, (part.end_ns - part.start_ns) / length),
            seconds=part.seconds,
        )

    yield Row(
        call=call,
        depth=depth,
        begins=max(0.0, (call.request.start_ns - whole.start_ns) / 1e9),
        bars=tuple(bar(phase, part) for phase, part in call.phases.items()),
    )
    for each in call.calls:
        yield from _rows(each, whole, depth + 1)


def _leaves(call: Call) -> Iterator[tuple[Call, Phase, float]]:
    """What was done or waited for, and nothing that only waits for a call below it."""
    for phase, part in call.phases.items():
        if phase == "request" or (phase == "infer" and call.calls):
            continue
        yield call, phase, part.seconds
    for each in call.calls:
        yield from _leaves(each)


def _clock(call: Call) -> str:
    """When it began."""
    return format_clock(call.request.start_ns / 1e9)


def _seconds(call: Call, phase: Phase) -> float | None:
    part = call.phases.get(phase)
    return None if part is None else part.seconds


def asked(receiver: str, model: str, since_seconds: float, until_seconds: float = 0.0) -> Answer:
    """The slowest requests to a model between two moments before now, and the models that are known.

    Raises:
        ClientError: it was not reached, or is not a receiver.
    """
    with closing(Transport(receiver, timeout_seconds=_PATIENCE_SECONDS)) as transport:
        spans = {"since": f"{since_seconds:g}", "until": f"{until_seconds:g}"}
        answer = transport.get("/traces/slow", {"model": model, **spans})
        with as_documented(transport.address, "the list of slow requests"):
            return ANSWER.validate_python(answer.required().json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowest:
    """The slowest requests, as lines for a chat and each as a table with bars; neither without requests."""

    lines: tuple[str, ...]
    tables: tuple[Table, ...]


def slowest(receiver: str, model: str, *, start: float, end: float) -> Slowest:
    """What traces answer to other parts: those that ended between two Unix times, as this receiver has them.

    Raises:
        ClientError: it was not reached, or is not a receiver.
    """
    # A receiver of 0.13.2 or before knows no end, so what came after it is dropped here, too.
    answer = asked(receiver, model, time.time() - start, time.time() - end)
    found = tuple(slow for slow in answer.requests if slow.call.request.end_ns <= end * 1e9)
    return Slowest(lines=tuple(slow_lines(model, found)), tables=tuple(map(waterfall, found)))


def slow_page(model: str, slow: Sequence[Slow]) -> str:
    """The slowest requests of a model, each as a waterfall."""
    from tritonobs.report.formats import template  # noqa: PLC0415 (brings jinja2)

    return template(__package__, "slow.html").render(
        title=f"Slowest traced requests to {model}",
        latency=latency,
        requests=[
            {
                "slow": each,
                "rows": rows(each),
                "sentence": sentence(each),
                "at": format_moment(each.call.request.start_ns / 1e9),
            }
            for each in slow
        ],
    )
