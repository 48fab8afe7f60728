"""What traces answer to other parts: the slowest traced requests to a model."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tritonobs.clients.transport import as_documented
from tritonobs.extensions.traces.client import TracesClient
from tritonobs.extensions.traces.slowest import from_json
from tritonobs.extensions.traces.waterfall import slow_lines, waterfall
from tritonobs.report.console import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowest:
    """The slowest requests, as lines for a chat and each as a table with bars; neither without requests."""

    lines: tuple[str, ...]
    tables: tuple[Table, ...]


def slowest(receiver: str, model: str, *, start: float, end: float) -> Slowest:
    """Those that ended between two Unix times, as this receiver of traces has them.

    Raises:
        ClientError: it was not reached, or is not a receiver.
    """
    client = TracesClient(receiver)
    try:
        # The receiver counts back from now, so what came after `end` is dropped below.
        answer = client.slow(model, time.time() - start)
        with as_documented(client.address, "the list of slow requests"):
            found = [slow for slow in from_json(answer) if slow.call.request.end_ns <= end * 1e9]
    finally:
        client.close()
    return Slowest(lines=tuple(slow_lines(model, found)), tables=tuple(map(waterfall, found)))
