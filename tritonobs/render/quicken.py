"""The rules on a faster clock, for rehearsals: what takes ten minutes takes two.

Waits and intervals are divided, and windows of two minutes and more; shorter windows follow the scrapes and
stay. Names keep the window they are written with: `rate5m` then looks back over a fifth of it.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from tritonobs.render.artifact import yaml_text
from tritonobs.units import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tritonobs.render.artifact import Artifact

_SPAN = re.compile(r"(?<=\[)[0-9a-z]+(?=[\]:])|(?<=\boffset )[0-9a-z]+")
_LONG_SECONDS = 120
_SHORTEST_WINDOW_SECONDS = 60
_SHORTEST_INTERVAL_SECONDS = 5
_RULES = "prometheus/rules/"


def quicken(artifacts: Iterable[Artifact], speed: float) -> tuple[Artifact, ...]:
    """The artifacts, with their rules made to run `speed` times as fast (1 leaves them as they are)."""
    return tuple(
        replace(artifact, text=_quick_file(artifact.text, speed))
        if speed > 1 and artifact.path.startswith(_RULES) and artifact.path.endswith(".yml")
        else artifact
        for artifact in artifacts
    )


def _quick_file(text: str, speed: float) -> str:
    rules = yaml.safe_load(text)
    for group in rules.get("groups", ()):
        interval = float(parse_duration(group["interval"]))
        group["interval"] = _written(max(interval / speed, min(interval, _SHORTEST_INTERVAL_SECONDS)))
        for rule in group["rules"]:
            _quick_rule(rule, speed)
    return yaml_text(
        rules, comment=f"Made by tritonobs up --drills: the fleet's rules, {speed:g} times as fast."
    )


def _quick_rule(rule: dict[str, Any], speed: float) -> None:
    rule["expr"] = _SPAN.sub(lambda found: _window(found[0], speed), rule["expr"])
    for key in rule.keys() & {"for", "keep_firing_for"}:
        rule[key] = _written(float(parse_duration(rule[key])) / speed)


def _window(text: str, speed: float) -> str:
    seconds = float(parse_duration(text))
    return text if seconds < _LONG_SECONDS else _written(max(seconds / speed, _SHORTEST_WINDOW_SECONDS))


def _written(seconds: float) -> str:
    return format_duration(math.ceil(seconds))
