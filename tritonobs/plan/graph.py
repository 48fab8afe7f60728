"""The calls between models: ensembles and BLS pipelines as a graph of models, and the cost of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Final

from tritonobs.findings import quoted
from tritonobs.plan.fleet import Model

Edges = Mapping[str, Mapping[str, Decimal]]

ENSEMBLE_VERSION = "1"
"""Triton counts the traffic of every ensemble under version 1, not under its real version."""


def direct_calls(models: Iterable[Model]) -> dict[str, dict[str, Decimal]]:
    """Caller → called model → calls per request of the caller; several stages of one model add up."""
    edges: dict[str, dict[str, Decimal]] = {}
    for model in models:
        called = edges.setdefault(model.name, {})
        for call in model.calls:
            called[call.model] = called.get(call.model, Decimal(0)) + call.per_request
    return edges


def find_cycle(edges: Edges) -> tuple[str, ...]:
    """The names along one circle of calls, first again at the end; nothing when there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        # graphlib walks from called to caller.
        return tuple(reversed(error.args[1]))
    return ()


def called_first(edges: Edges) -> tuple[str, ...]:
    """Every model, each after those it calls.

    Raises:
        graphlib.CycleError: models call each other in a circle.
    """
    # graphlib walks without recursion: a chain of thousands of models would exceed Python's stack.
    return tuple(TopologicalSorter(edges).static_order())


MOST_PAIRS: Final = 200_000
"""Pipelines times the models below them: ten thousand models with twenty each."""
MOST_CALLS: Final = 1_000_000
"""Of one model for one request of a pipeline, over all levels between them."""


class TooManyCalls(ValueError):
    """Pipelines call more models than is plausible; `model` is where that shows."""

    def __init__(self, model: str, message: str) -> None:
        self.model = model
        super().__init__(message)


def calls_per_request(edges: Edges) -> dict[str, dict[str, Decimal]]:
    """Pipeline → every model below it, however deep → its calls per request of the pipeline.

    A model that is reached on several ways gets the sum: two calls of a pipeline that makes three are six.

    Raises:
        TooManyCalls: more than `MOST_PAIRS` pairs, or `MOST_CALLS` calls.
    """
    pairs = 0
    totals: dict[str, dict[str, Decimal]] = {}
    for name in called_first(edges):
        below: dict[str, Decimal] = {}
        for called, times in edges.get(name, {}).items():
            below[called] = below.get(called, Decimal(0)) + times
            for deeper, more in totals[called].items():
                below[deeper] = below.get(deeper, Decimal(0)) + times * more
            if len(below) + pairs > MOST_PAIRS:
                message = f"pipelines and the models below them make more than {MOST_PAIRS:,} pairs"
                raise TooManyCalls(name, f"{message}, the most that is allowed")
        heaviest = max(below, key=lambda called: below[called], default="")
        if heaviest and below[heaviest] > MOST_CALLS:
            message = f"a request makes {below[heaviest]:.3g} calls of {quoted(heaviest)}"
            raise TooManyCalls(
                name, f"{message}, with all that is called between; allowed are {MOST_CALLS:,}"
            )
        pairs += len(below)
        totals[name] = below
    return totals


def callers(edges: Edges) -> dict[str, dict[str, Decimal]]:
    """Called model → who calls it directly → calls per request of the caller."""
    reverse: dict[str, dict[str, Decimal]] = {name: {} for name in edges}
    for caller, called in edges.items():
        for name, times in called.items():
            reverse.setdefault(name, {})[caller] = times
    return reverse


def connected(edges: Edges) -> tuple[tuple[str, ...], ...]:
    """Groups of models that have to do with each other; a limit in one group never touches another."""
    reverse, seen, groups = callers(edges), set(), []
    for name in edges:
        if name in seen:
            continue
        group, waiting = [], [name]
        seen.add(name)
        while waiting:
            here = waiting.pop()
            group.append(here)
            near = [other for other in (*edges.get(here, {}), *reverse.get(here, {})) if other not in seen]
            # Marked when found, not when visited: a member of many pipelines would wait once for each.
            seen.update(near)
            waiting.extend(near)
        groups.append(tuple(group))
    return tuple(groups)


def series_version(model: Model, version: str) -> str:
    """The version under which Triton's traffic series of this model version are found."""
    return ENSEMBLE_VERSION if model.kind == "ensemble" and version else version
