"""The models to read closely: all of a small fleet, those that changed most of a large one."""

from __future__ import annotations

from tritonobs.timings.measured import Timings, with_callees

_ALL_UP_TO = 15
_CLOSE = 5


def focus_models(now: Timings, before: Timings, failing: dict[str, float]) -> set[str]:
    """The models to look at closely; `failing` are errors a second by model."""
    models = {model for model, _ in now.subjects()} | {model for model, _ in before.subjects()}
    if len(models) <= _ALL_UP_TO:
        return models
    trouble = _trouble(now, before)
    worst = sorted(models, key=lambda model: -(trouble.get(model, 0.0) + failing.get(model, 0.0)))
    return with_callees(worst[:_CLOSE], now.calls)


def _trouble(now: Timings, before: Timings) -> dict[str, float]:
    """By model, seconds of waiting a second that users got on top; a version that is gone counts as one."""
    extra: dict[str, float] = {}
    for subject, server in now.servers.items():
        was = before.servers.get(subject)
        if server.request is not None:
            usual = was.request if was and was.request is not None else 0.0
            added = max(0.0, server.request - usual) * server.rate
            extra[subject[0]] = extra.get(subject[0], 0.0) + added
    for subject, was in before.servers.items():
        if was.rate > 0 and not now.servers.get(subject):
            extra[subject[0]] = extra.get(subject[0], 0.0) + 1.0
    return extra
