"""The board's variables: the choices, the chosen values, and how they enter a query."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from tritonobs.errors import BadAnswer
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.picture.board import Board, Variable

EVERYTHING: Final = ".*"
# Grafana's $__rate_interval holds at least four scrapes.
_SCRAPES: Final = 4
_LABEL_VALUES: Final = re.compile(r"label_values\((?P<expr>.*),\s*(?P<label>\w+)\)", re.DOTALL)
_QUERY_RESULT: Final = re.compile(r"query_result\((?P<expr>.*)\)", re.DOTALL)
_NAME: Final = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")


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
        BadAnswer: the variable's query is none that Prometheus' data source knows.
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
    client: PrometheusClient,
    board: Board,
    wanted: Mapping[str, Sequence[str]],
    *,
    start: float,
    end: float,
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
            first = options(client, variable, words, start, end)[:1]
            words[variable.name] = one_of(first)
    return words


def _series_text(labels: Mapping[str, str]) -> str:
    """A series as Grafana shows it to a variable's regular expression."""
    pairs = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"
