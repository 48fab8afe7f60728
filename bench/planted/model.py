"""What a simulated server is made of."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Generator

Labels: TypeAlias = tuple[tuple[str, str], ...]
Key: TypeAlias = tuple[str, Labels]
Points: TypeAlias = list[tuple[float, float]]
Process: TypeAlias = "Generator[float | Instances, int, bool | None]"
"""A request; it ends with whether it went well, None where it was refused as bad input."""


@dataclass(kw_only=True)
class Model:
    """A model. `parts` are its stages in order: seconds, or the name of the model a stage calls.

    `staged` is false for a backend that reports no stages. An ensemble's parts are all calls, and it reports
    none.
    """

    name: str
    parts: dict[str, float | str]
    version: str = "1"
    instances: int = 1
    staged: bool = True
    ensemble: bool = False
    sizes: dict[tuple[str, str], float] = field(default_factory=dict)
    cached: float = 0.0


@dataclass(kw_only=True)
class State:
    """How one model does on one replica now; faults change it.

    `before` and `after` are seconds in `execute` outside of the stages' block, `raises_before` and
    `raises_after` the shares of requests that raise there. `delay` is what a batcher waits, `invalid` the
    share of requests that are refused as bad input. A model that is `gone` answers nothing.
    """

    slower: dict[str, float] = field(default_factory=dict)
    added: dict[str, float] = field(default_factory=dict)
    tail: tuple[float, float] = (0.0, 1.0)
    fails: float = 0.0
    raises: bool = False
    reason: tuple[str, str] = ("", "")
    cold: int = 0
    timeout: float = math.inf
    everything: float = 1.0
    before: float = 0.0
    after: float = 0.0
    raises_before: float = 0.0
    raises_after: float = 0.0
    delay: float = 0.0
    invalid: float = 0.0
    gone: bool = False
    sizes: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)


class Instances:
    """The instances of one model on one replica."""

    def __init__(self, number: int) -> None:
        self.free = list(range(number))
        self.waiting: deque[tuple[Process, list[object]]] = deque()
        self.dead: set[int] = set()
        self.frozen: set[int] = set()


class Replica:
    """A server: its models' instances and workers, and its metrics page."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.address = f"{name}:8002"
        self.cells: dict[Key, float] = {}
        self.histograms: dict[Labels, list[int]] = {}
        self.pools: dict[str, Instances] = {}
        self.states: dict[str, State] = {}
        self.workers: dict[tuple[str, int], tuple[str, float]] = {}
        self.beats: dict[str, tuple[str, str, float | None]] = {}
        self.listed = self.answers = True
        self.empty = False
        self.weight = 1.0
        self.cpu = 0.4
        # Where the samples of its page are kept: by line, and by histogram.
        self.kept: dict[Key, Points] = {}
        self.kept_buckets: dict[Labels, list[Points]] = {}
