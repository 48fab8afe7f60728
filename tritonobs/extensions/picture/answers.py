"""Everything that a picture shows: the board, the choices, the time, and Prometheus' answers.

The chosen values of the board's variables enter the queries of its panels.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from tritonobs.clients.prometheus import PrometheusClient, Reading, Series
from tritonobs.errors import BadAnswer, ClientError
from tritonobs.extensions.picture.board import Board, Mark, Panel, Target, Variable, read_board
from tritonobs.timings.episodes import runs
from tritonobs.timings.promql import Span, scrape_interval_seconds
from tritonobs.units import format_duration

_SIDE_BY_SIDE: Final = 4
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
# A column is 58 dots wide (`page.COLUMN`), so there is a point every three dots.
_POINTS_A_COLUMN: Final = 20
_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
EVERYTHING: Final = ".*"
# Grafana's $__rate_interval holds at least four scrapes.
_SCRAPES: Final = 4
_LABEL_VALUES: Final = re.compile(r"label_values\((?P<expr>.*),\s*(?P<label>\w+)\)", re.DOTALL)
_QUERY_RESULT: Final = re.compile(r"query_result\((?P<expr>.*)\)", re.DOTALL)
_NAME: Final = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A board at one time; `words` are the variables as they entered the queries."""

    board: Board
    words: Mapping[str, str]
    times: Times
    answers: tuple[Answer, ...]
    moments: tuple[Moment, ...]

    @property
    def silent(self) -> tuple[str, ...]:
        """The titles of panels that show nothing."""
        return tuple(answer.panel.title for answer in self.answers if not answer.lines)


def read_drawing(
    client: PrometheusClient,
    board: Mapping[str, Any],
    wanted: Mapping[str, Sequence[str]],
    *,
    start: float,
    end: float,
) -> Drawing:
    """Ask everything that a board shows between two moments (Unix seconds).

    `wanted` are values of the board's variables; what is not in it is as the board opens.

    Raises:
        ClientError: Prometheus could not be asked at all; a single panel without an answer says so itself.
    """
    known = read_board(board)
    times = Times(start=start, end=end, scrape_seconds=scrape_interval_seconds(client.targets()))
    words = choose(client, known, wanted, times)
    with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
        answers = tuple(pool.map(lambda panel: ask_panel(client, panel, words, times), known.panels))
    return Drawing(
        board=known,
        words=words,
        times=times,
        answers=answers,
        moments=moments(client, known, words, times),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(Span):
    """What is read, and how often Prometheus scrapes."""

    scrape_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series; points are (Unix seconds, value), without what is not a number."""

    ref: str
    name: str
    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float:
        """The latest value."""
        return self.points[-1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The series of a panel; `trouble` is Prometheus' own words when it could not answer."""

    panel: Panel
    lines: tuple[Line, ...] = ()
    step_seconds: float = 1
    queries: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a mark began."""

    mark: Mark
    time: float


def step_of(panel: Panel, times: Times) -> float:
    """Seconds between two points: as many as the panel's width can show, never closer than scrapes."""
    points = panel.most_points or panel.place[2] * _POINTS_A_COLUMN
    return _step(max(times.seconds / points, panel.shortest_step_seconds, times.scrape_seconds))


def _step(least: float) -> float:
    return next((step for step in _STEPS if step >= least), _STEPS[-1])


def ask_panel(client: PrometheusClient, panel: Panel, words: Mapping[str, str], times: Times) -> Answer:
    """The answer to one panel; without one, why."""
    step = step_of(panel, times)
    known = {**words, **intervals(step, times.scrape_seconds, times.seconds)}
    queries = tuple(fill(target.expr, known) for target in panel.targets)
    try:
        lines = tuple(
            line
            for target, query in zip(panel.targets, queries, strict=True)
            for line in ask_target(client, target, query, times, step)
        )
    except ClientError as error:
        return Answer(panel=panel, queries=queries, step_seconds=step, trouble=str(error))
    return Answer(panel=panel, lines=lines, step_seconds=step, queries=queries)


def ask_target(
    client: PrometheusClient, target: Target, query: str, times: Times, step_seconds: float
) -> tuple[Line, ...]:
    """The series of one query.

    Raises:
        ClientError: Prometheus gave no answer.
    """
    found: Sequence[Reading | Series]
    if target.instant:
        found = client.query(query, at=times.end)
    else:
        # As Grafana does: the same moments whenever it is asked, so that a picture can be drawn again.
        start = math.floor(times.start / step_seconds) * step_seconds
        end = math.floor(times.end / step_seconds) * step_seconds
        found = client.query_range(query, start=start, end=end, step_seconds=step_seconds)
    return tuple(
        Line(ref=target.ref, name=_name(target, one.labels), labels=one.labels, points=kept)
        for one in found
        if (kept := tuple(point for point in one.points if math.isfinite(point[1])))
    )


def moments(
    client: PrometheusClient, board: Board, words: Mapping[str, str], times: Times
) -> tuple[Moment, ...]:
    """When each of the board's marks began, in the order of time."""
    step = max(times.scrape_seconds, _step(times.seconds / 1000))
    begun: dict[tuple[str, float], Moment] = {}
    for mark in board.marks:
        query = fill(mark.expr, words)
        for series in client.query_range(query, start=times.start, end=times.end, step_seconds=step):
            for (time, _), *_ in runs(series.points, step):
                # What holds from the first step on began before the picture.
                if time > times.start + step:
                    begun[mark.name, time] = Moment(mark=mark, time=time)
    return tuple(sorted(begun.values(), key=lambda moment: moment.time))


def _name(target: Target, labels: Mapping[str, str]) -> str:
    if not target.legend:
        return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or target.expr
    return " ".join(_LABEL.sub(lambda found: labels.get(found[1], ""), target.legend).split())


def fill(text: str, words: Mapping[str, str]) -> str:
    """The text with `$name` and `${name}` replaced; a name without a word stays as it is."""
    # The $1 of `label_replace` looks like a variable and must stay.
    return _NAME.sub(lambda found: words.get(found[1] or found[2], found[0]), text)


def one_of(values: Iterable[str]) -> str:
    """A regular expression for exactly these values, inside the quotes of a PromQL matcher."""
    return json.dumps("|".join(map(re.escape, values)), ensure_ascii=False)[1:-1]


def intervals(step_seconds: float, scrape_seconds: float, range_seconds: float) -> dict[str, str]:
    """Grafana's own variables about time."""
    rate = max(step_seconds + scrape_seconds, _SCRAPES * scrape_seconds)
    return {
        "__interval": format_duration(step_seconds),
        "__rate_interval": format_duration(rate),
        "__range": format_duration(range_seconds),
    }


def options(
    client: PrometheusClient, variable: Variable, words: Mapping[str, str], start: float, end: float
) -> tuple[str, ...]:
    """What can be chosen, in the order Grafana shows it.

    Raises:
        BadAnswer: the variable's query is not known to Prometheus' data source.
        ClientError: Prometheus could not be asked.
    """
    query = fill(variable.query, words)
    if found := _LABEL_VALUES.fullmatch(query):
        values: Iterable[str] = client.label_values(found["label"], found["expr"], start=start, end=end)
    elif found := _QUERY_RESULT.fullmatch(query):
        lines = (_series_text(one.labels) for one in client.query(found["expr"], at=end))
        values = (match[1] for line in lines if (match := re.search(variable.regex, line)))
    else:
        raise BadAnswer(
            f"the variable {variable.name} asks {query!r}; known are label_values and query_result"
        )
    chosen = tuple(dict.fromkeys(values))
    return tuple(sorted(chosen)) if variable.ordered else chosen


def choose(
    client: PrometheusClient, board: Board, wanted: Mapping[str, Sequence[str]], times: Times
) -> dict[str, str]:
    """The words of the board's variables: what is wanted, otherwise everything, otherwise the first option.

    Raises:
        ClientError: Prometheus could not be asked.
    """
    words: dict[str, str] = {}
    for variable in board.variables:
        if values := wanted.get(variable.name):
            words[variable.name] = one_of(values)
        elif variable.every:
            words[variable.name] = EVERYTHING
        else:
            # The query of a variable names those before it, such as $cluster, so their words are filled in.
            first = options(client, variable, words, times.start, times.end)[:1]
            words[variable.name] = one_of(first)
    return words


def _series_text(labels: Mapping[str, str]) -> str:
    """A series as Grafana shows it to a variable's regular expression."""
    pairs = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"
