"""A Prometheus with our rules, and what the boards show of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs.errors import BadAnswer
from tritonobs.extensions.picture.answers import read_drawing
from tritonobs.extensions.picture.board import knobs_of
from tritonobs.render.grafana import load_boards

if TYPE_CHECKING:
    from pathlib import Path

    from tritonobs.clients.prometheus import PrometheusClient

# Budgets are sampled every five minutes, and evaluated two minutes after that.
PATIENCE_SECONDS = 540
OF_FEW = "{{of}} "
"""How the legend begins of what stands in the place of a percentile."""
ENDED = '(max_over_time(up{job="triton"}[1m]) == 0) and (max_over_time(up{job="triton"}[1h]) == 1)'


@dataclass(frozen=True, slots=True)
class Watched:
    """A Prometheus, and what the boards show of it."""

    client: PrometheusClient
    log: Path | None = None
    """Triton's, where there is one."""

    def boards(self):
        """The boards that fit its records."""
        return load_boards(knobs_of(self.client, start=time.time() - 60, end=time.time()))

    def recorded(self):
        """Whether the first records are there, whose names tell the boards their windows."""
        try:
            return bool(self.boards())
        except BadAnswer:
            return False

    def drawn(self, board, seconds=300, **wanted):
        """A board as it is now."""
        now = time.time()
        return read_drawing(self.client, board, wanted, start=now - seconds, end=now)

    def until(self, look, seconds=PATIENCE_SECONDS):
        """What `look` returns once it is nothing; the last thing it returned when it never is.

        A failure as soon as a server that answered does not any more: nothing more will come.
        """
        deadline = time.monotonic() + seconds
        while (found := look()) and time.monotonic() < deadline:
            assert not self.client.query(ENDED), self.last_words()
            time.sleep(2)
        return found

    def last_words(self):
        """What is said of a Triton that ended."""
        log = self.log.read_text(errors="replace")[-4000:] if self.log else "not kept"
        return f"Triton has ended; the end of its log:\n{log}"


def without_data(drawing):
    """The queries that found nothing, or could not be asked.

    Of a percentile and what stands in its place where requests are few, one has data.
    """
    return [
        (answer.panel.title, target.ref, answer.trouble)
        for answer in drawing.answers
        for target in answer.panel.targets
        if answer.trouble or not any(line.ref in _either(target, answer.panel) for line in answer.lines)
    ]


def _either(target, panel):
    """The query, and the one with the same legend but for what few requests tell."""
    said = target.legend.removeprefix(OF_FEW)
    pair = {one.legend: one.ref for one in panel.targets if one.legend in {said, OF_FEW + said}}
    return set(pair.values()) if OF_FEW + said in pair else {target.ref}
