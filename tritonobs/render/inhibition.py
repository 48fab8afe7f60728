"""Which alerts make which others superfluous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tritonobs import names
from tritonobs.render.matchers import matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.plan.fleet import Plan

_SUBJECT = ("cluster", "model", "version")
_LIMITS = ("TritonQpsNearLimit", "TritonQpsWillExceedLimit", "TritonQpsSpike")
_BURNS = tuple(f"TritonErrorBudgetBurn{tier}" for tier in ("Fast", "Medium", "Slow", "Long"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Superfluous:
    """While one of `causes` fires, `effects` with the same `equal` labels are not told."""

    causes: tuple[str, ...]
    effects: tuple[str, ...]
    equal: tuple[str, ...]


TABLE: Final = (
    # A server that is down explains what its own models, workers and pages seem to lack.
    Superfluous(
        causes=("TritonServerDown",),
        effects=(
            "TritonMetricsEmpty",
            "TritonRestartLoop",
            "TritonReplicaSlow",
            "TritonWorkerDead",
            "TritonModelReloaded",
            "TritonStageMetricsFailing",
            "TritonHostMemoryPressure",
        ),
        equal=("cluster", names.REPLICA),
    ),
    Superfluous(causes=("TritonModelUnloaded",), effects=("TritonSliMissing",), equal=_SUBJECT),
    Superfluous(
        causes=("TritonModelUnloaded",), effects=("TritonTrafficStopped",), equal=("cluster", "model")
    ),
    Superfluous(causes=("TritonTrafficStopped",), effects=("TritonTrafficDrop",), equal=("cluster", "model")),
    # Above the limit is more than near it, and no forecast.
    Superfluous(causes=("TritonQpsAboveLimit",), effects=_LIMITS, equal=_SUBJECT),
    Superfluous(causes=("TritonTokensAboveLimit",), effects=("TritonTokensNearLimit",), equal=_SUBJECT),
    # Of one SLO, the fastest burn says it all.
    *(
        Superfluous(causes=(fast,), effects=_BURNS[place + 1 :], equal=(*_SUBJECT, names.SLO))
        for place, fast in enumerate(_BURNS[:-1])
    ),
    # All model instances busy means that requests wait.
    Superfluous(causes=("TritonSaturated",), effects=("TritonQueueWaitHigh",), equal=_SUBJECT),
    Superfluous(causes=("TritonobsServeDown",), effects=("TritonLimitSourceLost",), equal=("cluster",)),
)
# What a member feels when its pipeline is in trouble, and nothing that could be the trouble's cause.
_FELT_BY_MEMBERS: Final = (
    ("TritonQpsAboveLimit", ("TritonQpsAboveLimit", *_LIMITS, "TritonQueueWaitHigh", "TritonSaturated")),
    (_BURNS[0], (*_BURNS, "TritonQueueWaitHigh", "TritonSaturated")),
    (_BURNS[1], (*_BURNS, "TritonQueueWaitHigh", "TritonSaturated")),
)


def inhibit_rules(plan: Plan) -> list[dict[str, Any]]:
    """The rules; none mutes an alert by itself, none mutes news of something else."""
    return [*_table(), *_pipelines(plan)]


def _table() -> Iterator[dict[str, Any]]:
    for one in TABLE:
        yield {
            "source_matchers": [matcher("alertname", one.causes)],
            "target_matchers": [matcher("alertname", one.effects)],
            "equal": list(one.equal),
        }


def _pipelines(plan: Plan) -> Iterator[dict[str, Any]]:
    """A page about a pipeline is enough: its members feel the same, and need not say so too."""
    for model in plan.models:
        members = tuple(dict.fromkeys(call.model for call in model.calls))
        for cause, effects in _FELT_BY_MEMBERS if members else ():
            yield {
                "source_matchers": [matcher("alertname", (cause,)), matcher(names.MODEL, (model.name,))],
                "target_matchers": [matcher("alertname", effects), matcher(names.MODEL, members)],
                "equal": ["cluster"],
            }
