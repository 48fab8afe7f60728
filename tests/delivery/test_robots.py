"""All robots together, through reloads of the fleet file, against strict robots; their evidence.

Evidence comes from Prometheus' records, quickly or not at all.
"""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import Serving
from tritonobs import names
from tritonobs.clients.chat import ChatClient
from tritonobs.delivery.commit import Answer, Pace
from tritonobs.delivery.composer import Said
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.robots import Above, Delivery, Evidence
from tritonobs.extensions.lab.robot import Fault, RobotDouble
from tritonobs.serve.config import load_served
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from jinja2 import Template

    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
cluster: east
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
addresses: {{prometheus: "http://127.0.0.1:1", alertmanager: "http://am.shop:9093"}}
models: {{inspect: {{versions: {{"1": {{}}}}}}}}
notify:
  timezone: Asia/Shanghai
  dingtalk: {{oncall: {{webhook_file: webhook, secret_file: secret{robot}}}}}
{notify}
"""
QUICK = Pace(linger_seconds=0.05, hold_seconds=5.0)


@pytest.fixture
def robot() -> Iterator[RobotDouble]:
    """A strict robot."""
    with RobotDouble() as robot:
        yield robot


@pytest.fixture
def write(fleet_file, robot) -> Callable[..., Path]:
    """Writes a fleet file for that robot."""

    def write(fields: str = "", text: str = FLEET) -> Path:
        return fleet_file(robot=fields, webhook=robot.webhook_url, signing=robot.secret, text=text)

    return write


def loaded(path: Path) -> tuple[Plan, Mapping[str, Template]]:
    """The plan and the templates of a fleet file."""
    served = load_served(path)
    return served.plan, served.templates


def _deliver(
    path: Path, steps: Callable[[Delivery, DeliveryMetrics], object], above: Above | None = None
) -> object:
    async def main() -> object:
        metrics = DeliveryMetrics()
        delivery = Delivery(
            *loaded(path),
            ChatClient(timeout_seconds=1.0),
            metrics=metrics,
            supervisor=Supervisor(),
            pace=QUICK,
            above=above,
        )
        try:
            return await steps(delivery, metrics)
        finally:
            await delivery.close()

    return asyncio.run(main())


def test_message_is_in_the_robots_own_language_time_and_place(write, robot, alert, payload) -> None:
    """Chinese words, Shanghai time, the fleet and its cluster, a silence at the fleet's Alertmanager."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        assert (await delivery.committer("oncall", "dingtalk").commit(payload(alert()))).accepted

    _deliver(write("language: zh"), steps)
    text = robot.messages[0].text
    assert text.startswith("#### 🔴 1 条告警触发中 · shop / east")
    assert "严重 · 自 03-01 20:00:00 CST 起" in text
    assert "[静默](http://am.shop:9093/#/silences/new?filter=" in text


def test_people_are_called(write, robot, alert, payload) -> None:
    """Those whose rule the alert matches."""
    rules = 'mention: [{match: {severity: critical}, mobiles: ["138"]}, {match: {team: nlp}, users: [lee]}]'

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        await delivery.committer("oncall", "dingtalk").commit(payload(alert()))

    _deliver(write(rules), steps)
    (message,) = robot.messages
    assert (message.mobiles, message.user_ids) == (("138",), ())
    assert message.text.endswith("@138")


def test_reload_keeps_budget_and_mute(write, robot, alert, payload) -> None:
    """A new fleet file is no way around the vendor's limits."""

    async def steps(delivery: Delivery, metrics: DeliveryMetrics) -> None:
        robot.fail(Fault.MUTE)
        assert not (await delivery.committer("oncall", "dingtalk").commit(payload(alert()))).accepted
        delivery.apply(*loaded(write("language: zh")))
        delivery.measure()
        labels = {"robot": "oncall"}
        assert metrics.registry.get_sample_value("tritonobs_robot_muted", labels) == 1
        assert metrics.registry.get_sample_value("tritonobs_robot_budget_remaining", labels) == 0

    _deliver(write(), steps)


def test_robot_that_goes_answers_its_callers_and_leaves_no_gauge(write, alert, payload) -> None:
    """Come again: Alertmanager still uses the old name until it, too, has the new configuration."""

    async def steps(delivery: Delivery, metrics: DeliveryMetrics) -> None:
        old = delivery.committer("oncall", "dingtalk")
        call = asyncio.create_task(old.commit(payload(alert())))
        await asyncio.sleep(0)
        delivery.apply(*loaded(write(text=FLEET.replace("oncall", "other"))))
        assert await call == Answer(accepted=False, reason="robot oncall is no longer in the fleet file")
        assert delivery.committer("oncall", "dingtalk") is None
        delivery.measure()
        assert metrics.registry.get_sample_value("tritonobs_robot_muted", {"robot": "oncall"}) is None
        assert metrics.registry.get_sample_value("tritonobs_robot_muted", {"robot": "other"}) == 0

    _deliver(write(), steps)


def test_new_secret_in_the_file_is_used_at_once(write, robot, alert, payload, tmp_path) -> None:
    """Without a reload, without a restart."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        robot.rules.secret = "SECnew"
        (tmp_path / "secret").write_text("SECnew")
        assert (await delivery.committer("oncall", "dingtalk").commit(payload(alert()))).accepted

    _deliver(write(), steps)


def test_secret_that_becomes_readable_is_used_no_more(write, robot, alert, payload, tmp_path) -> None:
    """The caller is told why, and to come again."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> Answer:
        (tmp_path / "secret").chmod(0o644)
        return await delivery.committer("oncall", "dingtalk").commit(payload(alert()))

    answer = _deliver(write(), steps)
    assert not answer.accepted
    assert "every user can read" in answer.reason
    assert robot.attempts == []


async def _said(alerts, robot):
    return (Said(f"{robot.name} has {len(alerts)} ](http://evil/) <b>"),)


async def _fails(*_):
    raise RuntimeError("a slip")


async def _takes_too_long(*_):
    await asyncio.sleep(60)


@pytest.fixture
def one_alert(alert, payload, monkeypatch):
    """A call, and a fifth of a second for what stands above it."""
    monkeypatch.setattr("tritonobs.delivery.robots._ABOVE_SECONDS", 0.2)
    return payload(alert())


@pytest.mark.parametrize(
    ("above", "begins"),
    [
        pytest.param(_said, "**oncall has 1 ] (http://evil/) \u2039b\u203a**", id="said"),
        pytest.param(_fails, "**🔴 TritonQpsAboveLimit**", id="fails"),
        pytest.param(_takes_too_long, "**🔴 TritonQpsAboveLimit**", id="takes too long"),
        pytest.param(None, "**🔴 TritonQpsAboveLimit**", id="nobody says anything"),
    ],
)
def test_what_is_wrong_stands_above_and_no_message_fails_or_waits_for_it(
    write, robot, one_alert, above, begins
) -> None:
    """What names hold stays data."""

    async def steps(delivery: Delivery, _: DeliveryMetrics) -> None:
        assert (await delivery.committer("oncall", "dingtalk").commit(one_alert)).accepted

    _deliver(write(), steps, above)
    _headline, first, *_ = [line for line in robot.messages[0].text.splitlines() if line]
    assert first.startswith(begins)


class Prometheus(Serving):
    """Answers every query with these samples, after a delay."""

    def __init__(
        self, *samples: tuple[dict[str, str], float], delay_seconds: float = 0.0, error: str = ""
    ) -> None:
        result = [{"metric": labels, "value": [0, str(value)]} for labels, value in samples]
        said = {"status": "success", "data": {"resultType": "vector", "result": result}}
        if error:
            said = {"status": "error", "errorType": "internal", "error": error}
        body = json.dumps(said).encode()
        self.asked: list[str] = []
        done = threading.Event()
        self.done = done
        prometheus = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                prometheus.asked += parse_qs(urlsplit(self.path).query)["query"]
                done.wait(delay_seconds)
                self.send_response(500 if error else 200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self.done.set()
        super().__exit__()


def _ask(url: str, *models: str):
    metrics = DeliveryMetrics()
    evidence = Evidence(url, metrics)
    try:
        return asyncio.run(evidence.shares(models)), metrics
    finally:
        evidence.close()


def _stage(stage: str, version: str = "1", model: str = "inspect") -> dict[str, str]:
    return {names.MODEL: model, names.VERSION: version, names.STAGE: stage}


def test_largest_shares_are_told_first() -> None:
    """The three largest stages of each model version, in per cent; crumbs are left out."""
    samples = [
        (_stage("nms"), 0.12),
        (_stage("detector"), 0.756),
        (_stage("preprocess"), 0.07),
        (_stage("x"), 0.05),
        (_stage("crumb", version="2"), 0.01),
        (_stage("infer", model="detector"), 1.0),
    ]
    with Prometheus(*samples) as prometheus:
        shares, metrics = _ask(prometheus.url, "inspect", "detector", "inspect")
    assert shares == {
        ("", "inspect", "1"): "detector 76%, nms 12%, preprocess 7%",
        ("", "detector", "1"): "infer 100%",
    }
    assert len(prometheus.asked) == 1
    assert metrics.registry.get_sample_value("tritonobs_evidence_queries_total", {"outcome": "answered"}) == 1


def test_shares_are_never_more_than_all_of_the_time() -> None:
    """Stages of requests that go on are counted already, the requests are not: seen as 107% in a demo."""
    samples = [(_stage("detector"), 0.78), (_stage("preprocess"), 0.3), (_stage("nms"), 0.12)]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("", "inspect", "1"): "detector 65%, preprocess 25%, nms 10%"}


def test_hostile_model_name_is_data() -> None:
    """It selects the model of that name, whatever it is made of."""
    with Prometheus() as prometheus:
        _ask(prometheus.url, 'a"}) or vector(1) # \\ .*\n')
    (query,) = prometheus.asked
    assert (
        query[query.index(",model=") :]
        == r""",model=~"a\"\\}\\)\\ or\\ vector\\(1\\)\\ \\#\\ \\\\\\ \\.\\*\\""" + "\\n" + '"}'
    )


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"delay_seconds": 10.0}, id="too slow"),
        pytest.param({"error": "out of memory"}, id="not well"),
    ],
)
def test_silence_of_prometheus_costs_no_message(trouble: dict[str, object]) -> None:
    """No evidence, no error; a counter says so."""
    with Prometheus(**trouble) as prometheus:
        shares, metrics = _ask(prometheus.url, "inspect")
    assert shares == {}
    assert metrics.registry.get_sample_value("tritonobs_evidence_queries_total", {"outcome": "failed"}) == 1


def test_absence_of_prometheus_costs_no_message() -> None:
    """The same when nobody listens."""
    assert _ask("http://127.0.0.1:1", "inspect")[0] == {}


def test_nobody_is_asked_about_nothing() -> None:
    """Alerts without a model need no question."""
    with Prometheus() as prometheus:
        assert _ask(prometheus.url, "", "")[0] == {}
    assert prometheus.asked == []


def _record(name: str, **labels: str) -> dict[str, str]:
    return {"__name__": name, names.MODEL: "inspect", names.VERSION: "1", **labels}


def test_the_queue_is_a_stage_of_that_line() -> None:
    """Stages are shares of the time in the model; 64 % of a request was spent before it got there."""
    samples = [
        (_record(names.STAGE_SHARE, stage="detector"), 0.63),
        (_record(names.STAGE_SHARE, stage="nms"), 0.2),
        (_record(names.STAGE_MEAN, stage="total"), 0.036),
        (_record(names.STAGE_MEAN, stage="detector"), 0.023),
        (_record(names.QUEUE_MEAN), 0.064),
        (_record(names.REQUEST_MEAN), 0.1),
    ]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("", "inspect", "1"): "queue 64%, detector 23%, nms 7%"}


def test_a_model_that_tells_no_stages_is_told_by_what_triton_knows() -> None:
    """Queue and compute."""
    samples = [(_record(names.QUEUE_MEAN), 0.03), (_record(names.REQUEST_MEAN), 0.1)]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("", "inspect", "1"): "compute 70%, queue 30%"}


def test_clusters_that_serve_a_model_of_one_name_are_told_apart() -> None:
    """A Prometheus of two clusters: each alert is told the stages of its own."""
    samples = [
        (_record(names.STAGE_SHARE, stage="detector", cluster="east"), 0.9),
        (_record(names.STAGE_SHARE, stage="nms", cluster="west"), 0.8),
    ]
    with Prometheus(*samples) as prometheus:
        shares, _ = _ask(prometheus.url, "inspect")

    assert shares == {("east", "inspect", "1"): "detector 90%", ("west", "inspect", "1"): "nms 80%"}
