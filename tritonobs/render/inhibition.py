"""Which alerts make which others superfluous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tritonobs.render.matchers import matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.plan.fleet import Plan

_MILDER = ("warning", "info")
_SUBJECT = ("cluster", "model", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Superfluous:
    """While one of `causes` fires, `effects` with the same `equal` labels are not told."""

    causes: tuple[str, ...]
    effects: tuple[str, ...]
    equal: tuple[str, ...]


_TABLE: tuple[_Superfluous, ...] = ()


def inhibit_rules(plan: Plan) -> list[dict[str, Any]]:
    """The rules; none mutes an alert by itself, none mutes news of something else."""
    return [*_table(), *_pipelines(plan)]


def _table() -> Iterator[dict[str, Any]]:
    for one in _TABLE:
        yield {
            "source_matchers": [matcher("alertname", one.causes)],
            "target_matchers": [matcher("alertname", one.effects)],
            "equal": list(one.equal),
        }


def _pipelines(plan: Plan) -> Iterator[dict[str, Any]]:
    """A page about a pipeline is enough: its members' milder alerts say the same again."""
    for model in plan.models:
        members = tuple(dict.fromkeys(call.model for call in model.calls))
        if members:
            yield {
                "source_matchers": [matcher("severity", ("critical",)), matcher("model", (model.name,))],
                "target_matchers": [matcher("severity", _MILDER), matcher("model", members)],
                "equal": ["cluster"],
            }
