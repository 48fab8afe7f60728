"""What an incident cost, from what SLOs were charged."""

from __future__ import annotations

import pytest

from tritonobs.clients.alertmanager import Silence
from tritonobs.clients.prometheus import Reading, Series
from tritonobs.delivery.payload import Alert
from tritonobs.extensions.incidents.account import said, timeline
from tritonobs.extensions.incidents.bill import bill
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.incidents.join import State, join
from tritonobs.extensions.incidents.recorder import entry_of
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text

FLEET = """\
fleet: shop
replicas: [{name: triton-1, url: "http://127.0.0.1:1"}]
models:
  inspect: {pipeline: bls, calls: {detector: 1}, slos: {availability: {objective: 99%}}}
  detector:
    slos:
      availability: {objective: 99%}
      fast: {objective: 99%, threshold: 500ms}
  bare: {}
notify: {dingtalk: {oncall: {webhook_file: w}, china: {webhook_file: w, language: zh}}}
"""
BEGAN = 1_780_000_000.0


class Prometheus:
    """Answers one question, and remembers it."""

    cluster, cluster_label = "shop", "cluster"

    def __init__(self, *rows, valid=(), limits=(), loads=()):
        self.rows, self.asked, self.valid = rows, [], valid
        self.limits, self.loads = limits, loads

    def query_range(self, expression, *, start, end, step_seconds):
        """Series with points in the span."""
        assert start < end
        assert step_seconds >= 15
        found = self.limits if "qps_limit" in expression else self.loads
        return tuple(
            Series(labels={"model": model, "version": version}, points=points)
            for model, version, points in found
        )

    def query(self, expression):
        """The rows, as readings; what is asked about the whole period is of other rows."""
        self.asked.append(expression)
        if "rarely" in expression:
            return self.readings(self.valid)
        return self.readings(self.rows)

    @staticmethod
    def readings(rows):
        """Readings with the labels of an SLO."""
        return tuple(
            Reading(labels={"model": model, "version": version, "slo": slo}, value=value, time=BEGAN)
            for model, version, slo, value in rows
        )


@pytest.fixture(name="over")
def _over(tmp_path):
    """The plan, its fleet, and an incident of these models that lasted five minutes."""
    plan = build_plan(read_text(FLEET, "fleet.yaml").spec, tmp_path)
    fleet = Fleet.of(plan)

    def over(*models):
        alerts = [
            Alert.model_validate(
                {
                    "status": status,
                    "labels": {
                        "alertname": "TritonErrorBudgetBurnFast",
                        "severity": "critical",
                        "model": model,
                    },
                    "startsAt": "2026-05-28T20:26:40Z",
                    "endsAt": "2026-05-28T20:31:40Z",
                }
            )
            for model in models
            for status in ("firing", "resolved")
        ]
        firing = join(State(), BEGAN + 10, alerts[::2], fleet)
        (incident,) = join(firing.state, BEGAN + 310, alerts[1::2], fleet).incidents
        return plan, incident, fleet

    return over


def test_failed_and_late_requests_are_those_of_clients(over):
    """The member's failures are its pipeline's, and are counted once."""
    plan, incident, fleet = over("detector", "inspect")
    prometheus = Prometheus(
        ("inspect", "", "availability", 143.2), ("inspect", "1", "availability", 143.2),
        ("detector", "", "availability", 143.2), ("detector", "", "fast", 20.4),
    )  # fmt: skip

    made = bill(prometheus, plan, incident, fleet, BEGAN + 310)

    assert (made.failed, made.late) == (143, 20)
    assert (made.seconds, made.found_by) == (300, "TritonErrorBudgetBurnFast")
    question, period = prometheus.asked
    assert "[30d]" in period
    assert "offset 3d" in period
    assert "[5m10s]" in question
    assert 'model=~"detector|inspect"' in question


def test_an_slo_of_one_version_alone_counts_its_versions(over):
    """And rows that the fleet file does not name count nothing."""
    plan, incident, fleet = over("detector")
    prometheus = Prometheus(
        ("detector", "1", "availability", 3),
        ("detector", "2", "availability", 4),
        ("detector", "", "old", 99),
    )

    assert bill(prometheus, plan, incident, fleet, BEGAN + 310).failed == 7


def test_without_an_slo_nothing_is_asked_and_nothing_is_claimed(over):
    """Nobody promised anything."""
    plan, incident, fleet = over("bare")
    prometheus = Prometheus()

    made = bill(prometheus, plan, incident, fleet, BEGAN + 310)

    assert (prometheus.asked, made.failed, made.late) == ([], None, None)


@pytest.mark.parametrize(
    ("robot", "text"),
    [
        pytest.param(
            "oncall", "Resolved after 5m, 143 requests failed, 20 exceeded their latency threshold", id="en"
        ),
        pytest.param(
            "china",
            "已结束，历时 5m，143 个请求失败，20 个超过延迟阈值",  # noqa: RUF001 (Chinese punctuation)
            id="zh",
        ),
    ],
)
def test_the_last_message_says_it(over, robot, text):
    """In the words of its robot; without a bill it says how long it was."""
    plan, incident, fleet = over("detector")
    prometheus = Prometheus(("detector", "", "availability", 143), ("detector", "", "fast", 20))
    made = bill(prometheus, plan, incident, fleet, BEGAN + 310)
    robots = {one.name: one for one in plan.notify.robots}

    (line,) = said([incident], {incident.id: made}, plan, robots[robot])
    (short,) = said([incident], {}, plan, robots[robot])

    assert line.text == text
    assert text.startswith(short.text)


@pytest.mark.parametrize(("robot", "text"), [("oncall", "20 requests exceeded"), ("china", "20 个请求超过")])
def test_late_ones_alone_are_called_requests(over, robot, text):
    """Nothing before them says what was late."""
    plan, incident, fleet = over("detector")
    made = bill(Prometheus(("detector", "", "fast", 20)), plan, incident, fleet, BEGAN + 310)
    robots = {one.name: one for one in plan.notify.robots}

    (line,) = said([incident], {incident.id: made}, plan, robots[robot])

    assert text in line.text


def test_the_share_of_the_budget_is_of_the_whole_period(over):
    """The largest first; an SLO that is too young for one has none."""
    plan, incident, fleet = over("detector")
    prometheus = Prometheus(
        ("detector", "", "availability", 143), ("detector", "", "fast", 20),
        valid=[("detector", "", "availability", 100_000)],
    )  # fmt: skip

    made = bill(prometheus, plan, incident, fleet, BEGAN + 310)

    assert [(one.slo, one.budget_share) for one in made.charged] == [
        ("availability", pytest.approx(0.143)),
        ("fast", None),
    ]
    (line,) = said([incident], {incident.id: made}, plan, plan.notify.robots[0])
    assert line.text.endswith(
        "20 exceeded their latency threshold, 14% of the error budget of detector availability"
    )


def test_what_was_done_meanwhile_is_said(over):
    """A limit, a version, a silence; the page has all of it in its timeline."""
    plan, incident, fleet = over("detector")
    prometheus = Prometheus(
        limits=[("detector", "", ((BEGAN, 8.0), (BEGAN + 60, 8.0), (BEGAN + 120, 12.0)))],
        loads=[("detector", "2", ((BEGAN + 150, 1.0), (BEGAN + 165, 1.0)))],
    )

    made = bill(prometheus, plan, incident, fleet, BEGAN + 310, alertmanager=Alertmanager())

    _, line = said([incident], {incident.id: made}, plan, plan.notify.robots[0])
    assert line.text == (
        'Meanwhile: limit of detector 8 → 12, detector 2 started, ops silenced model="detector"'
    )
    events = [event.what for event in timeline(entry_of(incident, BEGAN + 310, made))]
    assert events[1:4] == ["limit of detector 8 → 12", "detector 2 started", 'ops silenced model="detector"']


def test_what_was_done_elsewhere_or_before_is_not(over):
    """The twin: a silence of another model, an old one, a version that has always been there."""
    plan, incident, fleet = over("detector")
    start = BEGAN - 600
    prometheus = Prometheus(
        limits=[("detector", "", ((start, 8.0), (BEGAN, 8.0)))], loads=[("detector", "2", ((start, 1.0),))]
    )
    others = Alertmanager(
        ("2026-05-28T20:28:00Z", 'model="bare"'), ("2026-05-28T20:00:00Z", 'model="detector"')
    )

    assert bill(prometheus, plan, incident, fleet, BEGAN + 310, alertmanager=others).done == ()


class Alertmanager:
    """Has silences; without any named, one of the detector."""

    def __init__(self, *rows):
        self.rows = rows or [("2026-05-28T20:30:00Z", 'model="detector"')]

    def silences(self):
        """All of them."""
        return tuple(
            Silence(
                silence_id="1", state="active", starts_at=at, ends_at="2026-05-28T22:30:00Z",
                created_by="ops", comment="deploy", matchers=(matcher,),
            )
            for at, matcher in self.rows
        )  # fmt: skip
