"""Several questions at one moment, side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tritonobs.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tritonobs.clients.prometheus import PrometheusClient, Reading

_SIDE_BY_SIDE = 6
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What could not be looked at, and why."""

    what: str
    why: str


def ask_all(
    prometheus: PrometheusClient, questions: Mapping[str, str], *, at: float
) -> dict[str, tuple[Reading, ...]]:
    """The answers by the names of the questions, all for the same moment (Unix seconds).

    Raises:
        ClientError: the first question that got no answer; a part of the answers would look like the whole.
    """
    with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
        answers = {name: pool.submit(prometheus.query, text, at=at) for name, text in questions.items()}
        return {name: answer.result() for name, answer in answers.items()}


class Looks:
    """Looks taken side by side; those that saw nothing are kept in `unseen`, with the reason."""

    def __init__(self) -> None:
        self.unseen: list[Unseen] = []

    def take(self, looks: Mapping[str, Callable[[], _T]]) -> dict[str, _T]:
        """What each look saw, by its name."""
        seen: dict[str, _T] = {}
        with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
            pending = {name: pool.submit(look) for name, look in looks.items()}
            for name, answer in pending.items():
                trouble = answer.exception()
                if isinstance(trouble, ClientError):
                    self.unseen.append(Unseen(what=name, why=str(trouble)))
                else:
                    seen[name] = answer.result()
        return seen
