"""Colours of the fleet's own names: a model has one hue on every board, its versions and SLOs are shades.

Grafana picks colours by name from a list by a hash: three of five models may be yellow. A build knows the
names, and gives each a hue that colour-blind people can distinguish.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import palette

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from signals import Signal

HUES: Final = (
    palette.BLUE,
    palette.ORANGE,
    palette.GREEN,
    palette.PINK,
    palette.YELLOW,
    palette.DEEP_BLUE,
    palette.VERMILION,
    palette.TEAL,
)
"""As many as the eye distinguishes; a ninth model shares its hue with the first."""
_OF_MODEL: Final = re.compile(r"(?P<before>[^{]*)\{\{model\}\}(?P<after>(?: \{\{\w+\}\})*)")
_KINDS: Final = {
    "": "version",
    " {{version}}": "version",
    " {{version}} {{source}}": "version",
    " {{slo}} {{version}}": "slo",
}
_WITHOUT_MORE: Final = ("", " {{version}}")
_WHITE, _BLACK = 255, 0
_SHADES: Final = ((_WHITE, 0.0), (_WHITE, 0.5), (_BLACK, 0.4), (_WHITE, 0.75), (_BLACK, 0.6))


def hue(place: int) -> str:
    """The hue of the model (or replica) at this place of the fleet file."""
    return HUES[place % len(HUES)]


def shade(colour: str, place: int) -> str:
    """The colour, lightened or darkened; at place 0 as it is."""
    towards, share = _SHADES[place % len(_SHADES)]
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02X}" for part in parts)


def of_fleet(
    signals: Iterable[Signal],
    models: Sequence[tuple[str, Sequence[str]]],
    slos: Sequence[str],
    replicas: Sequence[str],
) -> list[dict[str, Any]]:
    """Fixed colours for every series named by a model, a replica or an SLO: one override a colour."""
    chosen: dict[str, set[str]] = defaultdict(set)
    for signal in signals:
        found = _OF_MODEL.fullmatch(signal.legend)
        kind = _KINDS.get(found["after"]) if found else None
        if found and kind:
            for place, (model, versions) in enumerate(models):
                base = signal.colour or hue(place)
                rows = slos if kind == "slo" else (*versions, "all")
                for number, row in enumerate(rows):
                    more = "" if found["after"] in _WITHOUT_MORE else "( .*)?"
                    end = f" {re.escape(row)}{more}"
                    # The first version has the model's own hue, and so has a legend without versions.
                    end = end if kind == "slo" or number else f"({end})?"
                    chosen[shade(base, number)].add(re.escape(found["before"] + model) + end)
        elif signal.legend.startswith("{{%(replica)s}}"):
            for place, replica in enumerate(replicas):
                chosen[hue(place)].add(f"{re.escape(replica)}( .*)?")
        elif signal.legend == "{{slo}}":
            for place, slo in enumerate(slos):
                chosen[hue(place)].add(re.escape(slo))
    return [
        {
            "matcher": {"id": "byRegexp", "options": f"/^({'|'.join(sorted(names))})$/"},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
        }
        for colour, names in chosen.items()
    ]
