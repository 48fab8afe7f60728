"""Several queries at one moment, in parallel."""

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
    """What could not be read, and why."""

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


class Readings:
    """Requests made in parallel; failed ones are kept in `unseen` with the reason."""

    def __init__(self) -> None:
        self.unseen: list[Unseen] = []

    def take(self, requests: Mapping[str, Callable[[], _T]], *, called: str = "{}") -> dict[str, _T]:
        """The result of each request, by its name; `called` is the form of the name in `unseen`."""
        seen: dict[str, _T] = {}
        with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
            pending = {name: pool.submit(request) for name, request in requests.items()}
            for name, answer in pending.items():
                trouble = answer.exception()
                if isinstance(trouble, ClientError):
                    self.unseen.append(Unseen(what=called.format(name), why=str(trouble)))
                else:
                    # Any other exception is a mistake of ours, and is raised here.
                    seen[name] = answer.result()
        return seen
