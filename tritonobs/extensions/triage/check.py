"""What checks share: what one declares, what all say in the same way, what several read of a view.

A check is a function whose name is its id, its page and its heading. It declares its place among the checks
and what its causes explain. Names and numbers in sentences are formatted the same way in all checks. Commands
in next steps are quoted so that they can be pasted with any model name. Several checks read queues that
empty, errors of input, busy machines, burning budgets.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tritonobs import names, registry
from tritonobs.clients.prometheus import FiringAlert
from tritonobs.extensions.triage.case import Change
from tritonobs.extensions.triage.snapshot import ASKS, Ask
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.measured import Subject
from tritonobs.timings.promql import labels_of
from tritonobs.timings.stages import Row
from tritonobs.units import format_duration, format_number, parse_moment

LATE: Final = frozenset({"slow_stage", "queue_saturation", "cpu_starved", "slow_machine"})
"""Waiting, busy processors and slow stages are consequences of most faults, and seldom causes."""
_ALWAYS: Final = frozenset({"budget_burn"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check. Of two equally sure causes that of the lower `order` comes first.

    `explains` are the checks whose causes follow from one of this check, where both are about one request's
    way; those of `same_model` only in the same model, those of `callers` only in that model and its callers,
    those of `at_once` only where they did not begin after its own numbers had settled. `follows` are the
    checks whose causes explain one of this check: the same relation, declared at its other end.
    """

    judge: Callable[[View], Iterator[Cause]]
    order: int
    explains: frozenset[str]
    same_model: frozenset[str]
    callers: frozenset[str]
    at_once: frozenset[str]
    follows: frozenset[str]


DECLARED: Final[dict[str, Check]] = {}
"""Every check by its name; `tritonobs.extensions.triage.checks` fills it."""


def check(
    *,
    order: int,
    explains: Iterable[str] | None = None,
    same_model: Iterable[str] = (),
    callers: Iterable[str] = (),
    at_once: Iterable[str] = (),
    follows: Iterable[str] = (),
    asks: Mapping[str, Ask] | None = None,
) -> Callable[[Callable[[View], Iterator[Cause]]], Callable[[View], Iterator[Cause]]]:
    """Declare the decorated function as the check of its name.

    Without `explains` its causes explain nothing, burning budgets included. A deployment or a worker of one
    model explains nothing in another model of the pipeline (`same_model`). A stage that becomes slow a minute
    after a surge of traffic has settled is a cause, not a consequence of the surge (`at_once`). `asks` are
    questions to Prometheus about a window that only this check asks, by the name of the answer; questions of
    several checks are in `tritonobs.timings.questions`.
    """
    ASKS.update(asks or {})

    def declare(judge: Callable[[View], Iterator[Cause]]) -> Callable[[View], Iterator[Cause]]:
        DECLARED[judge.__name__] = Check(
            judge=judge,
            order=order,
            explains=frozenset() if explains is None else frozenset(explains) | _ALWAYS,
            same_model=frozenset(same_model),
            callers=frozenset(callers),
            at_once=frozenset(at_once),
            follows=frozenset(follows),
        )
        return judge

    return declare


def stage_labels(row: Row) -> dict[str, str]:
    """The labels that select a stage's series."""
    return labels_of((row.model, row.version, row.name))


def titled(subject: Subject) -> str:
    """`inspect version 2`, or the model alone where the subject has no version."""
    return f"{subject[0]} version {subject[1]}" if subject[1] else subject[0]


def timing_evidence(change: Change) -> tuple[Evidence, ...]:
    """Mean and p99 of a part of a request, before and now."""
    what, now = change.now.name, change.now.timing
    mean = Evidence(f"mean of {what}", change.was.mean, now.mean, "seconds")
    p99 = Evidence(f"p99 of {what}", change.was.p99, now.p99, "seconds")
    return (mean, p99) if now.p99 is not None else (mean,)


def figure(value: float) -> str:
    """Three digits, and no exponent: 1234 tokens are `1230`. Prometheus may also answer NaN."""
    return format_number(float(f"{value:.3g}")) if math.isfinite(value) else "unknown"


def plural(number: int, what: str) -> str:
    """`1 new worker`, `2 new workers`."""
    return f"{number} {what}{'s' if number > 1 else ''}"


def suggest_limit(model: str) -> str:
    """A command that measures what a model can serve; without the extension for that, how busy it is."""
    if "history" not in registry.NAMES:
        return stages_command(model)
    return f"tritonobs limits suggest --model {shlex.quote(model)}"


def set_limit(model: str, version: str, qps: float) -> str:
    """A command that sets a limit; the reader fills in the fleet file and the reason."""
    which = f" --model {shlex.quote(model)}" if model else ""
    which += f" --version {shlex.quote(version)}" if version else ""
    return f'tritonobs limits set fleet.yaml {figure(qps)}{which} --reason "there is room"'


def stages_command(model: str) -> str:
    """A command that shows where the time goes."""
    return f"tritonobs stages --model {shlex.quote(model)}"


def triage_command(model: str, since: str) -> str:
    """A command that runs triage again for one model."""
    return f"tritonobs triage --model {shlex.quote(model)} --since {since}"


_FEWEST = 3.0
"""Requests that wait: below that a queue appears and drains with each of them."""
_SHARE = 0.1
_LONGEST_SECONDS = 86_400.0
_LAST_SECONDS, _AS_USUAL = 20.0, 1.3


def draining(
    view: View, labels: Mapping[str, str], usual: float | None = None
) -> tuple[str, tuple[str, ...]]:
    """Words to add, and what to do, when fewer arrive than are answered, or no more than usual."""
    seconds = _seconds(view, labels)
    if seconds is not None:
        drained = format_duration(max(1, round(seconds)))
        wait = f"wait: at this rate the queue drains in about {drained}"
        return "; the spike has ended and the queue is draining", (wait,)
    if _is_over(view, labels, usual):
        nothing = "no action needed: the spike has ended"
        return "; traffic is back to normal", (nothing,)
    return "", ()


def _is_over(view: View, labels: Mapping[str, str], usual: float | None) -> bool:
    """Whether no more is answered at the end than `usual` requests a second, and nothing waits."""
    points, end = view.trends.points("requests", labels), view.snapshot.incident.end
    last = view.trends.level(points, end - max(_LAST_SECONDS, view.trends.window), end)
    if usual is None or last is None or (view.value("waiting", labels) or 0.0) >= _FEWEST:
        return False
    return last <= _AS_USUAL * usual


def _seconds(view: View, labels: Mapping[str, str]) -> float | None:
    """How long the queue still lasts; None when it does not get shorter."""
    waiting, filling = view.value("waiting", labels), view.value("filling", labels)
    rate = view.value("requests", labels) or 0.0
    # Without requests the bound by `rate` is 0, and a queue that stands still would divide by 0.
    if waiting is None or filling is None or waiting < _FEWEST or filling > -_SHARE * rate or filling >= 0:
        return None
    # Without requests any fall counts, however small, so the quotient may be of any size.
    return min(_LONGEST_SECONDS, waiting / -filling)


# What our inspection models call input that they cannot use (models/preprocess/1/sniff.py).
INPUT_REASONS: Final = frozenset(("corrupt_image", "empty_image", "too_large", "unsupported_format"))
_NEARLY_ALL = 0.9


def explain_errors(view: View, subject: Subject) -> bool:
    """Whether nearly all errors of a model are of input, by what its own stages and those it calls count."""
    model, _ = subject
    models = {model, *(call.model for call in view.now.calls if call.pipeline == model)}
    # A pipeline that passes an error on counts it again: not the sum of both.
    of_input = dict.fromkeys(models, 0.0)
    for (counted_by, reason), rate in view.rows("stage_errors", names.MODEL, names.REASON).items():
        if counted_by in models and reason in INPUT_REASONS:
            of_input[counted_by] += rate
    errors = (view.error_ratio(subject) or 0.0) * view.request_rate(subject)
    return max(of_input.values()) >= _NEARLY_ALL * errors > 0


_BUSY, _ROSE = 0.95, 0.1


def taken(view: View) -> Mapping[str, tuple[float, float]]:
    """Replicas whose processors became fully busy: their use before, and now."""
    before = view.rows("cpu", names.INSTANCE, before=True)
    found = {}
    for (replica,), mean in view.rows("cpu", names.INSTANCE).items():
        busy = max(mean, _half(view, replica))
        usual = before.get((replica,), busy)
        if busy >= _BUSY and busy - usual >= _ROSE:
            found[replica] = (usual, busy)
    return found


def _half(view: View, replica: str) -> float:
    """The busier half of the incident: it begins before what made the processors busy."""
    incident = view.snapshot.incident
    points, middle = view.trends.points("cpu", {names.INSTANCE: replica}), (incident.start + incident.end) / 2
    halves = ((incident.start, middle), (middle, incident.end))
    return max(view.trends.level(points, *half) or 0.0 for half in halves)


# The rules append the tier, Fast to Long: an objective may have several.
_BURN_ALERT = "TritonErrorBudgetBurn"
_OBJECTIVE = (names.MODEL, names.VERSION, names.SLO)
_SIGMAS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """An objective whose alert fires: requests of this window, bad ones, and the share that may be bad.

    `lately` is the burn rate of the rules' shortest window, which may begin before this one.
    """

    subject: Subject
    slo: str
    valid: float
    bad: float
    allowed: float
    lately: float
    since: float | None

    @property
    def rate(self) -> float:
        """How many times as fast as allowed the budget burns in this window."""
        return self.bad / self.valid / self.allowed if self.valid and self.allowed else 0.0

    @property
    def missed(self) -> bool:
        """Whether more requests of this window were bad than the objective allows, and than chance."""
        expected = self.allowed * self.valid
        # Without the 1, a window without requests would miss its objective by 0 >= 0.
        return self.bad >= 1 + expected + _SIGMAS * math.sqrt(expected)


def burning_alerts(view: View) -> Iterator[Burn]:
    """Each objective once, however many of its alerts fire."""
    seen: set[tuple[str, ...]] = set()
    for alert in view.snapshot.alerts:
        key = tuple(alert.labels.get(label, "") for label in _OBJECTIVE)
        if alert.state != "firing" or not alert.name.startswith(_BURN_ALERT) or key in seen:
            continue
        seen.add(key)
        labels = dict(zip(_OBJECTIVE, key, strict=True))
        # A model that was not asked for, or a missing answer, does not mean that there were no bad requests.
        if view.value("slo_valid", labels) is None or "slo_bad" not in view.snapshot.now:
            continue
        valid, bad, allowed, lately = (
            view.value(name, labels) or 0.0 for name in ("slo_valid", "slo_bad", "budgets", "burning")
        )
        yield Burn(
            subject=(key[0], key[1]),
            slo=key[2],
            valid=valid,
            # A record takes back what it charged too early: a short window may hold only what is taken back.
            bad=max(0.0, bad),
            allowed=allowed,
            lately=lately,
            since=_moment(alert),
        )


def burning_still(view: View) -> Iterator[str]:
    """Alerts that fire for earlier requests: this window meets their objectives."""
    for burn in burning_alerts(view):
        if not burn.missed:
            rate = f"{burn.lately:.3g} times as fast as allowed" if burn.lately else "by its longer windows"
            yield (
                f"the error budget of {titled(burn.subject)}, objective {burn.slo}, still burns "
                f"{rate} because of earlier requests; "
                f"{burn.bad:.0f} of this window's {burn.valid:.0f} requests missed it"
            )


def _moment(alert: FiringAlert) -> float | None:
    """When the alert's condition began to hold; None where Prometheus does not report it."""
    try:
        return parse_moment(alert.active_at).timestamp()
    except ValueError:
        return None
