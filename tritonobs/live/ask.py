"""Several questions at one moment, side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.clients.prometheus import PrometheusClient, Reading

_SIDE_BY_SIDE = 6


def ask_all(
    prometheus: PrometheusClient, questions: Mapping[str, str], *, at: float
) -> dict[str, tuple[Reading, ...]]:
    """The answers by the names of the questions, all for the same moment (Unix seconds).

    Raises:
        ClientError: the first question that got no answer; a part of the answers would look like the whole.
    """
    with ThreadPoolExecutor(max_workers=min(_SIDE_BY_SIDE, max(1, len(questions)))) as pool:
        answers = {name: pool.submit(prometheus.query, text, at=at) for name, text in questions.items()}
        return {name: answer.result() for name, answer in answers.items()}
