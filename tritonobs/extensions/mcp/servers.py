"""Answers that no command has: the alerts of this moment, and a PromQL query with bounds.

How much a query reads is seen in its text, without a parser, which is not there on every platform. What is
not a plain duration is refused, so nothing is missed.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from tritonobs import names
from tritonobs.cli import COMMANDS
from tritonobs.cli.values import cluster_client
from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.prometheus import PrometheusClient, Reading, Series
from tritonobs.errors import ClientError
from tritonobs.extensions.mcp.answers import valid
from tritonobs.extensions.mcp.ask import Commands, Unanswered, Where
from tritonobs.extensions.mcp.schemas import Alert, QueryResult
from tritonobs.units import parse_duration

_ASK_SECONDS: Final = 8.0
_LINT_SECONDS, _QUERY_SECONDS = 20.0, 20.0
_POINTS: Final = 100
_FINEST_SECONDS: Final = 15.0
_MOST_SERIES: Final = 500
MOST_BACK_SECONDS: Final = 7 * 86_400.0
MOST_SAMPLES: Final = 1_000_000.0
"""Of one series: points of the answer times samples that each of them reads."""
_EVERY_SECONDS: Final = 15.0
"""Taken for the scrape interval, and for the step of a subquery that names none."""
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`[^`]*`')
_RANGE = re.compile(r"\[([^\]]*)\]")
_AT = re.compile(r"@\s*(start\s*\(|end\s*\(|[^\s)\]},]*)", re.IGNORECASE)
_OFFSET = re.compile(r"\boffset\b\s*(-?\s*[^\s)\],]*)", re.IGNORECASE)

Unread = tuple[tuple[str, str], ...]


def alerts(where: Where) -> tuple[list[dict[str, Any]], Unread]:
    """The alerts that Prometheus has, those that fire first; which of them are silenced, Alertmanager says.

    Raises:
        ClientError: Prometheus did not answer.
    """
    with closing(cluster_client(where.prometheus, where.cluster, timeout_seconds=_ASK_SECONDS)) as client:
        found = [one for one in client.alerts() if one.name != names.WATCHDOG]
    silenced, unread = _silenced(where.alertmanager)
    rows = [
        {
            "name": one.name,
            "state": one.state,
            "since": one.active_at,
            "labels": {key: text for key, text in one.labels.items() if key != "alertname"},
            "summary": one.annotations.get("summary", ""),
            "silenced": frozenset(one.labels.items()) in silenced,
        }
        for one in sorted(found, key=lambda one: (one.state != "firing", one.active_at, one.name))
    ]
    return valid(rows, tuple[Alert, ...]), unread


def _silenced(url: str) -> tuple[frozenset[frozenset[tuple[str, str]]], Unread]:
    if not url:
        return frozenset(), (("Alertmanager", "no address is known, so silences are not shown"),)
    try:
        with closing(AlertmanagerClient(url, timeout_seconds=_ASK_SECONDS, retries=0)) as client:
            return frozenset(frozenset(one.labels.items()) for one in client.alerts() if one.silenced_by), ()
    except ClientError as error:
        return frozenset(), (("silences", str(error)),)


async def run_query(
    commands: Commands, where: Where, expression: str, over: str
) -> tuple[dict[str, Any], Unread]:
    """The result of an expression that the linter finds no error in and that reads little enough.

    Raises:
        Unanswered: it is refused; the text says why.
        ClientError: Prometheus did not answer, or refused it.
    """
    # As one line, so that the linter reads it as one expression.
    line = " ".join(expression.split())
    seconds = float(parse_duration(over)) if over else 0.0
    points = _POINTS if over else 1
    bounded(line, points=points, span_seconds=seconds)
    linted, unread = await _linted(commands, line)
    async with commands.turn("query", _QUERY_SECONDS):
        ask = partial(_asked, where.prometheus, line, seconds)
        found = await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
    if len(found) > _MOST_SERIES:
        unread = (*unread, ("series", f"{len(found)} came back; the first {_MOST_SERIES} are given"))
    value = {"expression": line, "linted": linted, "series": found[:_MOST_SERIES]}
    return valid(value, QueryResult), unread


def _asked(url: str, expression: str, seconds: float) -> list[dict[str, Any]]:
    found: Sequence[Reading | Series]
    with closing(PrometheusClient(url, timeout_seconds=_ASK_SECONDS, retries=0)) as client:
        if seconds:
            now, step = time.time(), max(_FINEST_SECONDS, seconds / _POINTS)
            found = client.query_range(expression, start=now - seconds, end=now, step_seconds=step)
        else:
            found = client.query(expression)
    return [
        {"labels": dict(one.labels), "points": [[at, _value(value)] for at, value in one.points]}
        for one in found
    ]


def _value(value: float) -> float | str:
    """A number, or as Prometheus writes what is none: JSON has no NaN."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"


async def _linted(commands: Commands, expression: str) -> tuple[bool, Unread]:
    """Whether the linter read the expression, and its warnings.

    Raises:
        Unanswered: it finds an error.
    """
    if "lint" not in COMMANDS:
        return False, (("linter", "this installation has none: the expression was not checked"),)
    with tempfile.TemporaryDirectory(prefix="tritonobs-query-") as folder:
        # In a folder of its own, where no configuration switches checks off.
        file = Path(folder) / "query.promql"
        file.write_text(f"{expression}\n", encoding="utf-8", errors="replace")
        try:
            said = await commands.json("lint", "--", file.name, seconds=_LINT_SECONDS, folder=Path(folder))
        except Unanswered as error:
            return False, (("linter", f"the expression was not checked: {error}"),)
    findings = said.value.get("findings", [])
    for one in findings:
        if one["severity"] == "error":
            hint = f" ({one['hint']})" if one.get("hint") else ""
            raise Unanswered(f"refused, {one['id']}: {one['message']}{hint}")
    return True, tuple((f"linter, {one['id']}", one["message"]) for one in findings)


def bounded(expression: str, *, points: int, span_seconds: float) -> None:
    """Nothing, for an expression that reads little enough at each of `points` moments of a span.

    Raises:
        Unanswered: it reads more, or how much it reads cannot be seen.
    """
    bare = _STRING.sub('""', expression)
    if "#" in bare:
        raise Unanswered("comments are not accepted: they could hide what is asked")
    back, samples = span_seconds, 1.0
    for found in _RANGE.finditer(bare):
        length, step = _range(found[1])
        back += length
        samples *= max(1.0, length / step)
    for found in _OFFSET.finditer(bare):
        back += abs(_seconds(found[1].replace(" ", "").removeprefix("-"), "offset"))
    for found in _AT.finditer(bare):
        back += 0.0 if found[1].endswith("(") else max(0.0, time.time() - _moment(found[1]))
    if back > MOST_BACK_SECONDS:
        raise Unanswered(
            "the expression reads more than 7 days back, with its ranges, offsets and @; ask for less"
        )
    if samples * points > MOST_SAMPLES:
        raise Unanswered(
            f"the expression reads more than {MOST_SAMPLES:,.0f} samples of a series; ask for less"
        )


def _moment(word: str) -> float:
    with suppress(ValueError):
        if math.isfinite(moment := float(word)):
            return moment
    raise Unanswered(f"@ {word[:40]!r} is not a Unix time, start() or end()")


def _range(text: str) -> tuple[float, float]:
    length, colon, step = text.partition(":")
    every = _seconds(step, "the step of a subquery") if colon and step.strip() else _EVERY_SECONDS
    return _seconds(length, "a range"), max(every, 1e-3)


def _seconds(text: str, what: str) -> float:
    word = text.strip()
    try:
        return (
            float(word) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", word) else float(parse_duration(word))
        )
    except ValueError:
        raise Unanswered(f"{what}: {word[:40]!r} is not a plain duration like 5m") from None
