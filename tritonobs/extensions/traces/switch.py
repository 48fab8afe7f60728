"""Switches tracing on and off on running servers, as far as their HTTP API allows.

Where no rate is given, each model of a server gets one. Rates are prime: an even one would see only every
second request of a client that alternates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tritonobs.errors import ClientError

if TYPE_CHECKING:
    from tritonobs.clients.triton import TraceSetting, TritonClient

# null clears the model's own setting: the server's setting applies again.
_INHERIT = {"trace_level": None, "trace_rate": None, "trace_count": None}
_OFF = {"trace_level": ["OFF"]}
MOST_RATE = 2**32 - 2
"""The largest rate that Triton 24.10 takes back over HTTP, though it shows larger ones."""

# The P99 of 1,000 samples is a time between the 98.1st and the 99.9th percentile (docs/traces.md).
WANTED_SAMPLES: Final = 1000
WINDOW_SECONDS: Final = 300.0
MOST_TRACES_A_SECOND: Final = 20.0
"""Of a server. Triton 24.10 ended with signal 11 at 30 to 40 on a busy machine; see docs/traces.md."""
_SLACK = 1.25


def hindrance(setting: TraceSetting, receiver: str) -> str:
    """What no request can change about how a server traces, and the flags to start it with; or nothing."""
    flags = f"--trace-config=mode=opentelemetry --trace-config=opentelemetry,url={receiver}"
    if setting.mode != "opentelemetry":
        return f"it writes traces to files (mode {setting.mode}); restart it with {flags}"
    if setting.url.rstrip("/") != receiver:
        return f"it sends traces to {setting.url or 'no receiver'}; for {receiver} restart it with {flags}"
    return ""


def ready_models(server: TritonClient) -> tuple[str, ...]:
    """The models that a server serves.

    Raises:
        ClientError: it could not be asked.
    """
    return tuple(sorted({entry.name for entry in server.repository_index() if entry.ready}))


def set_rate(server: TritonClient, models: tuple[str, ...], rate: int) -> None:
    """Trace every `rate`th request to each of these models; with 0 none of them.

    Raises:
        ClientError: the server could not be asked, or has no such model.
    """
    for model in models:
        server.trace(model, _every(rate) if rate else _OFF)


def _every(rate: int) -> dict[str, object]:
    # -1 is without end: a count that was set earlier may be used up.
    return {"trace_level": ["TIMESTAMPS"], "trace_rate": str(rate), "trace_count": "-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate that was set, or why it could not be; `rate` 0 means that the earlier one was restored."""

    replica: str
    model: str
    rate: int = 0
    trouble: str = ""


@dataclass(slots=True, kw_only=True)
class Traffic:
    """How many requests a second the models of one server get, between two readings."""

    server: TritonClient
    models: tuple[str, ...] = ()
    """Only these; all that it serves when empty."""
    clock: Callable[[], float] = time.monotonic
    _seen: tuple[float, dict[str, int]] | None = None

    def look(self) -> dict[str, float]:
        """Requests a second of each model since the previous reading; nothing at the first one.

        Raises:
            ClientError: the server could not be reached; the next reading is a first one.
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
    servers: Mapping[str, TritonClient],
    models: tuple[str, ...],
    *,
    seconds: float = 1.0,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, dict[str, float]]:
    """Requests a second of the models of each server that answers, over this time."""
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
        f"1 in {rate} requests would be {traced:,.0f} traces/s; more than "
        f"{MOST_TRACES_A_SECOND:.0f} may end the server (Triton 24.10 crashed at 30): "
        f"--rate {safe} or more, --rate auto, or --force"
    )


@dataclass(slots=True, kw_only=True)
class Follower:
    """Sets the rates of one server by its traffic, and restores the earlier ones."""

    replica: str
    traffic: Traffic
    _before: dict[str, Mapping[str, object]] = field(default_factory=dict)
    """What gives each model back what it had, or inherited."""

    def round(self) -> tuple[Change, ...]:
        """Read the traffic since the previous round, and set what has changed. The first round only reads."""
        try:
            return tuple(self._round())
        except ClientError as error:
            return (Change(replica=self.replica, model="", trouble=str(error)),)

    def _round(self) -> Iterator[Change]:
        server = self.traffic.server
        for model, wanted in choose(self.traffic.look()).items():
            # Asked in every round: a server that was started again has forgotten its rates.
            setting = server.trace_setting(model)
            if setting.on and not worth_changing(setting.rate, wanted) and model in self._before:
                continue
            if model not in self._before:
                # Noted before it is changed: a signal may come between the two.
                inherited = setting == server.trace_setting()
                self._before[model] = _INHERIT if inherited else _again(setting)
            server.trace(model, _every(wanted))
            yield Change(replica=self.replica, model=model, rate=wanted)

    def put_back(self) -> tuple[Change, ...]:
        """Restore the rate of every model; report what could not be restored."""
        done = []
        while self._before:
            model, setting = self._before.popitem()
            try:
                self.traffic.server.trace(model, setting)
                done.append(Change(replica=self.replica, model=model))
            except ClientError as error:
                done.append(Change(replica=self.replica, model=model, trouble=str(error)))
        return tuple(done)


def _again(setting: TraceSetting) -> dict[str, object]:
    return {
        "trace_level": list(setting.level),
        "trace_rate": str(setting.rate) if setting.rate <= MOST_RATE else None,
        "trace_count": str(setting.count),
    }


def choose(requests_a_second: Mapping[str, float]) -> dict[str, int]:
    """A rate (every Nth request) for each model of one server, by its requests a second.

    Each gets WANTED_SAMPLES in WINDOW_SECONDS, or all its requests where they are fewer. A server whose
    models would make more than MOST_TRACES_A_SECOND together traces all of them that much less often.
    """
    wanted = WANTED_SAMPLES / WINDOW_SECONDS
    shares = {model: max(1.0, qps / wanted) for model, qps in requests_a_second.items()}
    # Down to a prime: enough samples. Up to one where that would be too many traces.
    rates = {model: prime_at_most(math.floor(share)) for model, share in shares.items()}
    crowd = traces_a_second(requests_a_second, rates) / MOST_TRACES_A_SECOND
    if crowd > 1.0:
        # Again from the exact shares: primes below them may give too many traces where these do not.
        crowd = max(1.0, traces_a_second(requests_a_second, shares) / MOST_TRACES_A_SECOND)
        rates = {model: prime_at_least(math.ceil(share * crowd)) for model, share in shares.items()}
    return rates


def worth_changing(rate: int, wanted: int) -> bool:
    """Whether traffic has changed enough that another rate is worth a step in the weights."""
    return rate != wanted and not 1 / _SLACK <= wanted / rate <= _SLACK


def traces_a_second(requests_a_second: Mapping[str, float], rates: Mapping[str, float]) -> float:
    """How many traces these rates make of this traffic."""
    return sum(qps / rates[model] for model, qps in requests_a_second.items())


def prime_at_most(number: int) -> int:
    """The largest prime up to a number; 1 below 2."""
    return next((n for n in range(number, 1, -1) if _is_prime(n)), 1)


def prime_at_least(number: int) -> int:
    """The smallest prime from a number on; 1 for up to 1."""
    if number <= 1:
        return 1
    while not _is_prime(number):
        number += 1
    return number


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
