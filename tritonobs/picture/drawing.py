"""Everything that a picture shows: the board, the choices, the time, and what Prometheus answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tritonobs.picture.answers import Answer, Moment, Times, ask, choose, moments
from tritonobs.picture.board import Board, read_board
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tritonobs.clients.prometheus import PrometheusClient

_SCRAPE_SECONDS: Final = 15.0


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
    times = Times(start=start, end=end, scrape_seconds=_scrape_seconds(client))
    words = choose(client, known, wanted, start=start, end=end)
    return Drawing(
        board=known,
        words=words,
        times=times,
        answers=ask(client, known, words, times),
        moments=moments(client, known, words, times),
    )


def _scrape_seconds(client: PrometheusClient) -> float:
    """The longest scrape interval of the targets; without targets, what Prometheus does unasked."""
    intervals = [float(parse_duration(target.interval)) for target in client.targets() if target.interval]
    return max(intervals, default=_SCRAPE_SECONDS)
