"""Switches tracing on and off on running servers, as far as their HTTP API allows."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tritonobs.errors import ClientError
from tritonobs.traces.choice import MOST_TRACES_A_SECOND, choose, traces_a_second, worth_changing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tritonobs.clients.triton import ModelStats, RepositoryEntry, TraceSetting

OPENTELEMETRY = "opentelemetry"
# null clears what a model has of its own: it goes by the server's setting again.
_INHERIT = {"trace_level": None, "trace_rate": None, "trace_count": None}
_OFF = {"trace_level": ["OFF"]}
_MOST = 2**32 - 2
"""The largest rate that Triton 24.10 takes back over HTTP, though it shows larger ones."""


class Server(Protocol):
    """A replica, as far as it is asked; every method may raise ClientError."""

    def trace_setting(self, model: str = "") -> TraceSetting:
        """How it traces a model, or all without a setting of their own."""

    def trace(self, model: str, setting: Mapping[str, object]) -> TraceSetting:
        """Change that."""

    def repository_index(self) -> tuple[RepositoryEntry, ...]:
        """Its models."""

    def stats(self, model: str = "", version: str = "") -> tuple[ModelStats, ...]:
        """What they answered."""


def hindrance(setting: TraceSetting, receiver: str) -> str:
    """What no request can change about how a server traces, and the flags to start it with; or nothing."""
    flags = f"--trace-config=mode=opentelemetry --trace-config=opentelemetry,url={receiver}"
    if setting.mode != OPENTELEMETRY:
        return f"it writes traces to files (mode {setting.mode}); restart it with {flags}"
    if setting.url.rstrip("/") != receiver:
        return f"it sends traces to {setting.url or 'no receiver'}; for {receiver} restart it with {flags}"
    return ""


def ready_models(server: Server) -> tuple[str, ...]:
    """The models that a server serves.

    Raises:
        ClientError: it could not be asked.
    """
    return tuple(sorted({entry.name for entry in server.repository_index() if entry.ready}))


def turn_on(server: Server, models: tuple[str, ...], rate: int) -> None:
    """Trace every `rate`th request to each of these models.

    Raises:
        ClientError: the server could not be asked, or has no such model.
    """
    for model in models:
        server.trace(model, _every(rate))


def turn_off(server: Server, models: tuple[str, ...]) -> None:
    """Trace these models no more.

    Raises:
        ClientError: the server could not be asked, or has no such model.
    """
    for model in models:
        server.trace(model, _OFF)


def _every(rate: int) -> dict[str, object]:
    # -1 is without end: a count that was set earlier may be used up.
    return {"trace_level": ["TIMESTAMPS"], "trace_rate": str(rate), "trace_count": "-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate that was set, or why something could not be; `rate` 0 is: put back as it was."""

    replica: str
    model: str
    rate: int = 0
    trouble: str = ""


@dataclass(slots=True, kw_only=True)
class Traffic:
    """How many requests a second the models of one server get, from look to look."""

    server: Server
    models: tuple[str, ...] = ()
    """Only these; all that it serves when empty."""
    clock: Callable[[], float] = time.monotonic
    _seen: tuple[float, dict[str, int]] | None = None

    def look(self) -> dict[str, float]:
        """Requests a second of each model since the look before; nothing at the first one.

        Raises:
            ClientError: the server could not be asked; the next look is a first one.
        """
        before, self._seen = self._seen, None
        counts: dict[str, int] = {}
        for stats in self.server.stats():
            if not self.models or stats.name in self.models:
                counts[stats.name] = counts.get(stats.name, 0) + stats.successes + stats.failures
        now = self.clock()
        self._seen = now, counts
        if before is None or now <= before[0]:
            return {}
        # A counter that fell began again.
        return {
            model: max(0, count - before[1].get(model, count)) / (now - before[0])
            for model, count in counts.items()
        }


def traffic_of(
    servers: Mapping[str, Server],
    models: tuple[str, ...],
    *,
    seconds: float = 1.0,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, dict[str, float]]:
    """Requests a second of the models of each server that answers, watched for so long."""
    found: dict[str, dict[str, float]] = {}
    traffic = {name: Traffic(server=server, models=models) for name, server in servers.items()}
    for wait in (0.0, seconds):
        sleep(wait)
        for name, one in traffic.items():
            with suppress(ClientError):
                found[name] = one.look()
    return found


def danger(requests_a_second: Mapping[str, float], rate: int) -> str:
    """Why this traffic should not be traced at this rate; or nothing."""
    traced = traces_a_second(requests_a_second, dict.fromkeys(requests_a_second, rate))
    if traced <= MOST_TRACES_A_SECOND:
        return ""
    safe = math.ceil(traced * rate / MOST_TRACES_A_SECOND)
    return (
        f"1 in {rate} requests would be {traced:,.0f} traces a second; more than "
        f"{MOST_TRACES_A_SECOND:.0f} may end the server (Triton 24.10 crashed at 30): "
        f"--rate {safe} or more, --rate auto, or --force"
    )


@dataclass(slots=True, kw_only=True)
class Follower:
    """Sets the rates of one server by its traffic, and puts back what was there before."""

    replica: str
    server: Server
    models: tuple[str, ...] = ()
    """Only these; all that it serves when empty."""
    clock: Callable[[], float] = time.monotonic
    _traffic: Traffic = field(init=False)
    _before: dict[str, TraceSetting | None] = field(default_factory=dict)
    """What each model had; None for what it inherited."""

    def __post_init__(self) -> None:
        self._traffic = Traffic(server=self.server, models=self.models, clock=self.clock)

    def round(self) -> tuple[Change, ...]:
        """Look at the traffic since the round before, and set what has changed. The first one only looks."""
        try:
            return tuple(self._round())
        except ClientError as error:
            return (Change(replica=self.replica, model="", trouble=str(error)),)

    def _round(self) -> Iterator[Change]:
        for model, wanted in choose(self._traffic.look()).items():
            # Asked in every round: a server that was started again has forgotten its rates.
            setting = self.server.trace_setting(model)
            if setting.on and not worth_changing(setting.rate, wanted) and model in self._before:
                continue
            if model not in self._before:
                # Noted before it is changed: a signal may come between the two.
                inherited = setting == self.server.trace_setting()
                self._before[model] = None if inherited else setting
            self.server.trace(model, _every(wanted))
            yield Change(replica=self.replica, model=model, rate=wanted)

    def put_back(self) -> tuple[Change, ...]:
        """Let every model have what it had; what could not be put back is reported."""
        done = []
        while self._before:
            model, setting = self._before.popitem()
            try:
                self.server.trace(model, _INHERIT if setting is None else _again(setting))
                done.append(Change(replica=self.replica, model=model))
            except ClientError as error:
                done.append(Change(replica=self.replica, model=model, trouble=str(error)))
        return tuple(done)


def _again(setting: TraceSetting) -> dict[str, object]:
    return {
        "trace_level": list(setting.level),
        "trace_rate": str(setting.rate) if setting.rate <= _MOST else None,
        "trace_count": str(setting.count),
    }
