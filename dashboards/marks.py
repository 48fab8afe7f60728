"""What is drawn over every graph: alerts, reloads, new versions, changed limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import palette


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An annotation: while the expression has a value, a line or a band."""

    name: str
    expr: str
    colour: str
    title: str
    text: str


ALERTS: Final = Mark(
    name="Alerts",
    expr='ALERTS{alertstate="firing", severity=~"critical|warning", %(concerns)s}',
    colour=palette.CRITICAL,
    title="{{alertname}}",
    text="{{severity}} {{model}} {{version}} {{stage}}",
)
RELOADS: Final = Mark(
    name="Reloads",
    expr=(
        "count by (model, version) (\n"
        "  tritonobs_heartbeat_timestamp_seconds{%(concerns)s}\n"
        "    unless\n"
        "  tritonobs_heartbeat_timestamp_seconds{%(concerns)s} offset 2m\n"
        ")"
    ),
    colour=palette.BLUE,
    title="Workers started",
    text="{{model}} {{version}}",
)
VERSIONS: Final = Mark(
    name="New versions",
    expr=(
        "group by (model, version) (model_version:triton_requests:rate5m{%(concerns)s})\n"
        "  unless on (model, version)\n"
        "model_version:triton_requests:rate5m{%(concerns)s} offset 2m\n"
        "  and on (model)\n"
        "model_version:triton_requests:rate5m{%(concerns)s} offset 2m"
    ),
    colour=palette.VIOLET,
    title="New version",
    text="{{model}} {{version}}",
)
LIMITS: Final = Mark(
    name="Limit changes",
    expr=(
        "subject:tritonobs_qps_limit:held{%(concerns)s}\n"
        "  !=\n"
        "subject:tritonobs_qps_limit:held{%(concerns)s} offset 2m"
    ),
    colour=palette.ORANGE,
    title="Limit changed",
    text="{{model}} {{version}}",
)
ALL: Final = (ALERTS, RELOADS, VERSIONS, LIMITS)
