"""Marks on every graph: the beginning of alerts, and changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import palette


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An annotation: a line where the expression has a value."""

    name: str
    expr: str
    colour: str
    title: str
    text: str
    shown: bool = True
    """Whether it is drawn by default."""


STEP: Final = "1m"
"""How far apart a mark's expression is asked; two moments that follow each other are a band to Grafana."""


def _beginning(severity: str) -> str:
    """Where an alert begins: a line. While it fires it would be a band, and ten bands hide the graph."""
    firing = f'ALERTS{{alertstate="firing", severity="{severity}", %(concerns)s}}'
    return f"{firing}\n  unless\n{firing} offset {STEP}"


PAGES: Final = Mark(
    name="Critical",
    expr=_beginning("critical"),
    colour=palette.CRITICAL,
    title="{{alertname}}",
    text="{{model}} {{version}} {{stage}}",
)
WARNINGS: Final = Mark(
    name="Warnings",
    expr=_beginning("warning"),
    colour=palette.BAD,
    title="{{alertname}}",
    text="{{model}} {{version}} {{stage}}",
    shown=False,
)


def _change(what: str, expr: str) -> str:
    return f'label_replace(\n{expr},\n"what", "{what}", "", "")'


_RATE = "model_version:triton_requests:rate5m{%(concerns)s}"
_LIMIT = "subject:tritonobs_qps_limit:held{%(concerns)s}"
_BEAT = "tritonobs_heartbeat_timestamp_seconds{%(concerns)s}"
# One toggle for all three: a line of toggles that breaks costs every board a line.
CHANGES: Final = Mark(
    name="Changes",
    expr="\nor\n".join(
        (
            _change("Workers started", f"count by (model, version) ({_BEAT} unless {_BEAT} offset {STEP})"),
            _change(
                "New version",
                f"group by (model, version) ({_RATE})\n  unless on (model, version)\n{_RATE} offset {STEP}\n"
                f"  and on (model)\n{_RATE} offset {STEP}",
            ),
            _change("Limit changed", f"{_LIMIT} != {_LIMIT} offset {STEP}"),
        )
    ),
    colour=palette.BLUE,
    title="{{what}}",
    text="{{model}} {{version}}",
)
ALL: Final = (PAGES, WARNINGS, CHANGES)
