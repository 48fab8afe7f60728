"""Which windows the records of a Prometheus are made with: they are part of the records' names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tritonobs import names
from tritonobs.errors import BadAnswer
from tritonobs.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tritonobs.clients.prometheus import PrometheusClient

_SHORT: Final = "replica_model_version:triton_requests_succeeded:rate"
_MEDIUM: Final = "model_version_stage:tritonobs_stage_duration_seconds_sum:rate"


def knobs_of(client: PrometheusClient, *, start: float, end: float) -> dict[str, str]:
    """What a board has to know of the rules that were in force between two moments (Unix seconds).

    Raises:
        BadAnswer: there are no records of tritonobs in that time.
        ClientError: Prometheus could not be asked.
    """
    short = _window(client, _SHORT, start, end)
    # The last hour counts, so that labels are found where the servers are away at the end.
    series = client.query(f"last_over_time({_SHORT}{short}[1h])", at=end)
    return {
        "short": short,
        # Only models that time their stages have this record.
        "medium": _window(client, _MEDIUM, start, end, otherwise="1m"),
        "replica": _replica_label([one.labels for one in series]),
    }


def _replica_label(series: Sequence[Mapping[str, str]]) -> str:
    """The label of a replica's record that tells most of them apart; no fleet file is at hand."""
    own = {"__name__", names.MODEL, names.VERSION, names.CLUSTER}
    labels = {label for labels in series for label in labels} - own
    # `max` takes the first of equals; sorted, that is the same label every time.
    return max(
        sorted(labels), key=lambda label: len({one.get(label) for one in series}), default=names.INSTANCE
    )


def _window(client: PrometheusClient, record: str, start: float, end: float, *, otherwise: str = "") -> str:
    """The window at the end of a record's name; the shortest where rules were changed on the way."""
    found = client.label_values("__name__", f'{{__name__=~"{record}.+"}}', start=start, end=end)
    windows = [match[1] for name in found if (match := re.fullmatch(rf"{re.escape(record)}(\w+)", name))]
    if windows:
        return min(windows, key=parse_duration)
    if otherwise:
        return otherwise
    raise BadAnswer(
        f"{client.address} has no records of tritonobs in this time; are its rules loaded, was it scraping?"
    )
