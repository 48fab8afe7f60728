"""Which models a closer look is worth: all of a small fleet, of a large one those that changed most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.live.timings import with_callees

if TYPE_CHECKING:
    from tritonobs.live.timings import Timings

_ALL_UP_TO = 15
_CLOSE = 5


def focus_models(now: Timings, before: Timings, failing: dict[str, float]) -> set[str]:
    """The models to look at closely; `failing` are errors a second by model."""
    models = {model for model, _ in now.subjects()} | {model for model, _ in before.subjects()}
    if len(models) <= _ALL_UP_TO:
        return models
    worst = sorted(models, key=lambda model: -_trouble(now, before, model, failing.get(model, 0.0)))
    return with_callees(worst[:_CLOSE], now.calls)


def _trouble(now: Timings, before: Timings, model: str, errors: float) -> float:
    """Seconds of waiting a second that users got on top, an error counted as one of them."""
    extra = 0.0
    for subject, server in now.servers.items():
        was = before.servers.get(subject)
        if subject[0] == model and server.request is not None:
            usual = was.request if was and was.request is not None else 0.0
            extra += max(0.0, server.request - usual) * server.rate
    gone = any(
        subject[0] == model and was.rate > 0 and not now.servers.get(subject)
        for subject, was in before.servers.items()
    )
    return extra + errors + gone
