"""Any alerts in any order: nothing is lost, nothing is said too often, the end is said once."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.alertmanager_sim.alertmanager import Life
from support.incidents.conversations import EPOCH, Listener, alert_of, heard
from tritonobs.extensions.incidents.incident import Fleet, What, find
from tritonobs.extensions.incidents.join import MOST_OPEN, State, join
from tritonobs.extensions.incidents.news import Kind, Policy
from tritonobs.timings.cause import Cause

if TYPE_CHECKING:
    from tritonobs.extensions.incidents.incident import Incident

FLEET = Fleet(
    edges={
        "inspect": {"preprocess": 1, "nms": 2},
        "audit": {"nms": 1},
        "preprocess": {},
        "nms": {},
        "ocr": {},
    },
    replicas=frozenset({"triton-1", "triton-2"}),
)
HOURS = 2
_MODELS = st.sampled_from(["", "inspect", "audit", "preprocess", "nms", "ocr", "no\nmodel", "模型"])
_LABELS = st.fixed_dictionaries(
    {
        "alertname": st.sampled_from(
            ["TritonErrorBudgetBurnFast", "TritonServerDown", "TritonobsRobotMuted", "NotOurs", "Watchdog"]
        ),
        "severity": st.sampled_from(["critical", "warning", "info", "none", "page"]),
        "model": _MODELS,
        "version": st.sampled_from(["", "1", "2"]),
        "replica": st.sampled_from(["", "triton-1", "triton-2", "else"]),
    }
)
_TIMES = st.lists(st.integers(0, HOURS * 3600), min_size=2, max_size=8, unique=True).map(sorted)
EXAMPLES = settings.default.max_examples // 10
"""Each is hours of alerts: a tenth of what short inputs get, in every profile."""


@st.composite
def _lives(draw: st.DrawFn) -> list[Life]:
    """Alerts that begin and end up to four times each; the last one of some fires on."""
    found = []
    for labels in draw(st.lists(_LABELS, max_size=12, unique_by=lambda one: tuple(sorted(one.items())))):
        kept = {name: text for name, text in labels.items() if text}
        times = draw(_TIMES)
        found += [
            Life(labels=kept, since=begin, until=end)
            for begin, end in zip(times[::2], times[1::2], strict=False)
        ]
    return found


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    causes: tuple[Cause, ...]
    following: tuple[Cause, ...]


_CAUSES = st.builds(
    lambda check, place, confidence, since: Cause(
        check=check,
        place=place,
        sentence=f"{check} {place}",
        confidence=confidence,
        since=None if since is None else EPOCH + since,
    ),
    st.sampled_from(["bad_deploy", "error_surge", "replica_down", "slow_replica"]),
    st.tuples(_MODELS, st.sampled_from(["", "1"]), st.sampled_from(["", "triton-1", "decode"])),
    st.sampled_from([0.5, 0.9]),
    st.none() | st.integers(0, HOURS * 3600),
)
_VERDICTS = st.dictionaries(
    st.integers(0, HOURS * 3600).map(float),
    st.builds(
        lambda causes, following: _Verdict(causes=tuple(causes), following=tuple(following)),
        st.lists(_CAUSES, max_size=3),
        st.lists(_CAUSES, max_size=3),
    ),
    max_size=6,
)


def _parts(incidents: tuple[Incident, ...]) -> set[frozenset[str]]:
    return {one.keys for one in incidents}


@settings(max_examples=EXAMPLES)
@given(_lives(), st.integers(0, HOURS * 3600), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(lives: list[Life], at: int, dice: random.Random) -> None:
    """All at once, or one after the other in any order: the same incidents, each found by the other's id."""
    newest = {life.key: life for life in sorted(lives, key=lambda one: one.since) if life.since <= at}
    alerts = [alert_of(life, at) for life in newest.values()]
    now = EPOCH + at
    whole = join(State(), now, alerts, FLEET)
    dice.shuffle(alerts)

    state = State()
    step = join(state, now, (), FLEET)
    for alert in alerts:
        step = join(step.state, now, [alert], FLEET)

    assert _parts(step.incidents) == _parts(whole.incidents)
    for here, there in ((step, whole), (whole, step)):
        for one in here.incidents:
            found = find(there.incidents, one.id)
            assert found is not None
            assert (found.keys, found.began, found.ended, found.place) == (
                one.keys,
                one.began,
                one.ended,
                one.place,
            )


@settings(max_examples=EXAMPLES)
@given(_lives(), _VERDICTS)
def test_every_alert_has_an_incident_or_is_delivered_as_today(lives: list[Life], verdicts) -> None:
    """In every step exactly one of the two, and never two incidents."""
    listener = Listener(fleet=FLEET)
    moments = sorted(
        {at for life in lives for at in (life.since, life.until) if at is not None} | set(verdicts)
    )
    for at in moments:
        news = [alert_of(life, at) for life in lives if at in {life.since, life.until}]
        step = listener.hear(at, news, verdicts.get(float(at)))
        placed = [key for one in step.incidents if not one.closed for key in one.keys]
        closed = {key for one in step.incidents if one.closed for key in one.keys}
        outside = [one.fingerprint for one in step.outside]
        assert len(placed) == len(set(placed))
        assert len(outside) == len(set(outside))
        assert not set(placed) & set(outside)
        assert {one.fingerprint for one in news} <= {*placed, *outside, *closed}
        ids = [one.id for one in step.incidents]
        assert len(ids) == len(set(ids))
        assert len(ids) <= MOST_OPEN
        for one in step.incidents:
            assert one.worst in {"warning", "critical"}
            assert one.began <= (one.ended or EPOCH + at)


@settings(max_examples=EXAMPLES)
@given(_lives(), _VERDICTS)
def test_every_alert_is_named_and_every_end(lives: list[Life], verdicts) -> None:
    """Each that fired is in a message, and in the state that it had last."""
    listener = heard(lives, FLEET, until=HOURS * 3600 + 1000, verdicts=verdicts, tick_seconds=30)

    named = {one.state for said in listener.said for one in said.alerts}
    for life in {life.key: life for life in sorted(lives, key=lambda one: one.since)}.values():
        alert = alert_of(life, HOURS * 3600)
        assert alert.state in named


@settings(max_examples=EXAMPLES)
@given(_lives(), _VERDICTS)
def test_an_incident_says_no_more_than_it_may(lives: list[Life], verdicts) -> None:
    """A first message, updates five minutes apart unless it becomes worse, one end, and nothing after it."""
    listener = heard(lives, FLEET, until=HOURS * 3600 + 1000, verdicts=verdicts, tick_seconds=30)

    last: dict[str, tuple[float, Kind]] = {}
    for said in listener.said:
        message = said.message
        if message is None:
            continue
        incident = message.incident
        before = [last.pop(name) for name in (incident.id, *incident.joined) if name in last]
        # What a verdict parts when it is over already has an end alone, if no message named it.
        assert before or message.kind is Kind.FIRST or incident.ended is not None
        assert not before or message.kind is not Kind.FIRST
        assert all(kind is not Kind.END for _, kind in before)
        worse = any(change.what is What.SEVERITY for change in message.changes)
        if message.kind is Kind.UPDATE and not worse:
            assert said.at >= min(at for at, _ in before) + Policy().update_seconds
        last[incident.id] = (said.at, message.kind)
    assert {kind for _, kind in last.values()} <= {Kind.END, Kind.FIRST, Kind.UPDATE, Kind.REPEAT}
    over = {one.id for one in listener.state.closed.values()}
    assert all(kind is Kind.END for name, (_, kind) in last.items() if name in over)


@settings(max_examples=EXAMPLES)
@given(_lives(), st.lists(st.integers(0, HOURS * 3600), max_size=8, unique=True).map(sorted))
# An info does not count, and ends after its incident, which could not be told.
@example(
    [
        Life(labels={"alertname": "TritonErrorBudgetBurnFast", "severity": "critical"}, since=0, until=1),
        Life(labels={"alertname": "TritonErrorBudgetBurnFast", "severity": "info"}, since=1, until=302),
    ],
    [1, 302],
)
def test_a_chat_that_refuses_for_a_while_misses_nothing_that_matters(
    lives: list[Life], away: list[int]
) -> None:
    """What fires in the end is named, and of what was told to fire the end."""
    spans = list(zip(away[::2], away[1::2], strict=False))
    over = HOURS * 3600 + 2000

    listener = heard(
        lives,
        FLEET,
        until=over,
        tick_seconds=30,
        takes=lambda at: not any(begin <= at < end for begin, end in spans),
    )

    named = {one.state for said in listener.said for one in said.alerts}
    told = {state[:2] for state in named if state[2] == "firing"}
    for life in {life.key: life for life in sorted(lives, key=lambda one: one.since)}.values():
        alert = alert_of(life, over)
        if alert.firing or alert.state[:2] in told:
            assert alert.state in named
