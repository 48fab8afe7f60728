"""Incidents in serve: a message begins with the cause, and no message waits for it or fails for it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from support.incidents.serving import (
    BEGAN,
    FLEET,
    STEP,
    Judged,
    alert,
    cause,
    say,
    texts,
)
from tritonobs.clients.prometheus import FiringAlert, PrometheusClient
from tritonobs.errors import ClientError
from tritonobs.extensions.incidents import part as module
from tritonobs.extensions.incidents.cost import Requests, cost
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text


def test_a_message_begins_with_the_cause_since_when_and_what_to_do(begin):
    """In the time zone of the fleet file, with a link to the page of the incident."""

    async def test(one, robots):
        return await one.above([alert()], robots["oncall"])

    first, second = begin(Judged(cause()), test)

    assert first.text == "inspect gets 12 requests/s, the limit is 8, since 04:26:40 CST"
    assert (second.text, second.word) == (f"Next: {STEP}", "incident")
    assert second.url.startswith("http://serve.shop:9900/incidents/20260528-2026-")


def test_a_robot_of_another_language_frames_it_in_its_words(begin):
    """The sentence of triage is English; what stands around it is not."""

    async def test(one, robots):
        return await one.above([alert()], robots["china"])

    first, second = texts(begin(Judged(cause()), test))

    assert first.startswith("诊断：inspect gets 12 requests/s")  # noqa: RUF001 (Chinese punctuation)
    assert second == f"下一步：{STEP}"  # noqa: RUF001 (as above)


def test_two_faults_are_said_one_after_the_other(begin):
    """Each with its own next step."""
    judged = Judged(cause(), cause("other", "other fails"))

    async def test(one, robots):
        return await one.above([alert(), alert("TritonErrorReasonSurge", "other")], robots["oncall"])

    assert [text.split()[0] for text in texts(begin(judged, test))] == ["inspect", "Next:", "other", "Next:"]


def test_what_has_nothing_to_do_with_the_alerts_is_not_said(begin):
    """The twin: a cause of another model's trouble."""

    async def test(one, robots):
        return await one.above([alert()], robots["oncall"])

    assert begin(Judged(cause("other", "other fails")), test) == ()


def test_a_slow_look_delays_no_message_and_is_in_the_next(begin, monkeypatch):
    """The first is out while the look still waits for its answer."""
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.05)
    judged = Judged(cause(sentence="inspect gets too much"), seconds=120)

    async def test(one, robots):
        first = await one.above([alert()], robots["oncall"])
        judged.released.set()
        await _knows(one, "inspect gets too much")
        return first, await one.above([alert()], robots["oncall"])

    first, second = begin(judged, test)

    assert first == ()
    assert texts(second)[0].startswith("inspect gets")
    assert judged.asked == 1


@pytest.mark.parametrize(
    ("seconds", "begins"),
    [
        pytest.param(0.0, "replica triton-1 is gone", id="in time"),
        pytest.param(2.0, "Part of the incident ongoing since 04:26:40 CST", id="too late"),
    ],
)
def test_a_cause_from_before_an_alert_does_not_explain_it(begin, monkeypatch, seconds, begins):
    """One look more, also where a cause is known; without its answer nothing is claimed."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 10.0)
    judged = Judged(cause(sentence="a worker died"))

    async def test(one, robots):
        # Only messages look: what a round began to look for just before an alert would be older than it.
        monkeypatch.setattr(module, "_ROUND_SECONDS", 60.0)
        await asyncio.sleep(0.2)
        first = await one.above([alert()], robots["oncall"])
        judged.verdict.causes = (cause(sentence="replica triton-1 is gone"),)
        judged.seconds = seconds
        if seconds:
            monkeypatch.setattr(module, "_PATIENCE_SECONDS", seconds / 10)
        late = alert("TritonServerDown", began=time.time() + 5)
        return first, await one.above([late], robots["oncall"])

    first, second = begin(judged, test)

    assert texts(first)[0].startswith("a worker died")
    assert texts(second)[0].startswith(begins)


async def _knows(one, sentence):
    for _ in range(6000):
        if [each.cause and each.cause.sentence for each in one.incidents] == [sentence]:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"a minute later {one.incidents} do not say: {sentence}")


@pytest.mark.parametrize(
    ("apart", "begins"),
    [
        pytest.param(60.0, "Probable cause changed: a worker died", id="just before"),
        pytest.param(0.0, "Part of the incident ongoing", id="long before"),
    ],
)
def test_a_young_incident_is_looked_at_again_and_the_next_alert_says_what_was_found(
    begin, monkeypatch, apart, begins
):
    """A dead worker shows as errors first; what its own alert is about began before that alert."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.5)
    judged = Judged(cause(sentence="inspect answers with errors"))

    async def test(one, robots):
        await say(one, robots, alert())
        judged.verdict.causes = (replace(cause(sentence="a worker died"), check="dead_worker"),)
        await _knows(one, "a worker died")
        monkeypatch.setattr(module, "_PAUSE_SECONDS", apart)
        monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.05)
        judged.seconds = 2.0
        return await say(one, robots, alert("TritonWorkerDead", began=time.time() + 1))

    _, lines, _ = begin(judged, test)

    assert lines[0].startswith(begins)


@pytest.mark.parametrize(
    ("status", "seconds"),
    [pytest.param("firing", 630, id="it goes on"), pytest.param("resolved", 150, id="it is over")],
)
def test_a_look_begins_with_what_still_fires(begin, monkeypatch, status, seconds):
    """What is over must not explain what began after it."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    judged = Judged(cause())

    async def test(one, robots):
        now = time.time()
        await one.above([alert(began=now - 600)], robots["oncall"])
        await one.above([alert(status=status, began=now - 600)], robots["oncall"])
        await one.above([alert("TritonServerDown", began=now - 120)], robots["oncall"])

    begin(judged, test)

    assert judged.spans[-1].seconds == pytest.approx(seconds, abs=30)


@pytest.mark.parametrize(
    ("earlier", "seconds"),
    [
        pytest.param(200.0, 320.0, id="a release"),
        pytest.param(0.0, 120.0, id="with the alert"),
        pytest.param(2000.0, 120.0, id="another one's"),
    ],
)
def test_what_explains_an_incident_stays_in_the_span_of_its_looks(begin, monkeypatch, earlier, seconds):
    """Half a minute before it, so that what was before is there to compare with."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    began = BEGAN - 30
    judged = Judged(cause(since=began - earlier))

    async def test(one, robots):
        await one.above([alert(began=began)], robots["oncall"])
        await asyncio.sleep(0.3)

    begin(judged, test)

    assert judged.spans[-1].seconds == pytest.approx(seconds, abs=10)


@pytest.mark.parametrize(
    ("labels", "seconds"),
    [
        pytest.param({}, 720.0, id="the same"),
        pytest.param({"model": "nms"}, 120.0, id="another model's"),
        pytest.param({"alertname": "TritonReplicaSlow"}, 120.0, id="another alert"),
    ],
)
def test_a_look_begins_when_the_alert_began_to_wait(begin, monkeypatch, labels, seconds):
    """An alert that waits for ten minutes is about what began before them."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    judged, fired = Judged(cause()), alert(began=BEGAN - 30)
    since = datetime.fromtimestamp(BEGAN - 630, timezone.utc).isoformat()
    judged.alerts = (FiringAlert(state="firing", activeAt=since, labels={**fired.labels, **labels}),)

    async def test(one, robots):
        await one.above([fired], robots["oncall"])

    begin(judged, test)

    assert judged.spans[0].seconds == pytest.approx(seconds, abs=10)


def test_since_when_alerts_wait_is_what_prometheus_says(monkeypatch):
    """An alert without a moment is left out, and without an answer a look begins with what fires."""
    alerts = [
        FiringAlert(state="firing", activeAt=at, labels={"alertname": "A"})
        for at in ("2026-05-28T20:00:00Z", "", "soon")
    ]
    prometheus = PrometheusClient("http://127.0.0.1:2")
    monkeypatch.setattr(PrometheusClient, "alerts", lambda _: tuple(alerts))
    assert [since for since, _ in module._active(prometheus)] == [1_779_998_400.0]

    def refuses(_):
        raise ClientError("nobody there")

    monkeypatch.setattr(PrometheusClient, "alerts", refuses)
    assert module._active(prometheus) == []


def test_a_cause_explains_what_began_before_it_was_found(begin):
    """The twin: two alerts of one moment, of which the second comes later; no other look is needed."""
    judged = Judged(cause())

    async def test(one, robots):
        await one.above([alert()], robots["oncall"])
        return await one.above([alert("TritonErrorBudgetBurnFast")], robots["oncall"])

    assert texts(begin(judged, test))[0].startswith("inspect gets")
    assert judged.asked == 1


def test_a_chat_reads_a_cause_once(begin):
    """A page that comes later belongs to the incident. What the chat did not accept is said again."""
    judged = Judged(cause())

    async def test(one, robots):
        said = []
        pages = [alert(), alert("TritonErrorBudgetBurnFast"), alert("TritonErrorBudgetBurnMedium")]
        for page, accepted in zip(pages, (False, True, True), strict=True):
            await one.sift("oncall", [page])
            said.append(await one.above([page], robots["oncall"]))
            one.named("oncall", [page.state] if accepted else [])
        return said

    refused, first, second = (texts(said)[0] for said in begin(judged, test))

    assert refused == first
    assert first.startswith("inspect gets")
    assert second.startswith("Part of the incident ongoing since")


@pytest.mark.parametrize("error", [RuntimeError("a slip"), OSError("no route")])
def test_a_look_that_fails_leaves_the_message_as_it_was(begin, error):
    """And is not repeated at once."""
    judged = Judged(error=error)

    async def test(one, robots):
        return [await one.above([alert()], robots["oncall"]) for _ in range(3)]

    assert begin(judged, test) == [(), (), ()]
    assert judged.asked == 1


def test_switched_off_nobody_is_asked(begin):
    """The messages are those of before; incidents are joined all the same."""
    judged = Judged(cause())

    async def test(one, robots):
        return await one.above([alert()], robots["oncall"]), one.incidents

    lines, incidents = begin(judged, test, "triage: false")

    assert (lines, judged.asked) == ((), 0)
    assert [one.place.models for one in incidents] == [("inspect",)]


def test_without_triage_there_are_incidents_without_causes(begin):
    """Taken out of the installation."""

    async def test(one, robots):
        return await one.above([alert()], robots["oncall"])

    assert begin(None, test) == ()


def test_the_end_says_how_long_it_was(begin):
    """In the message that tells the last end."""

    async def test(one, robots):
        await one.above([alert()], robots["oncall"])
        return await one.above([alert(status="resolved")], robots["oncall"])

    (line,) = begin(Judged(cause()), test)

    assert line.text.startswith("Resolved after 1m")
    assert line.word == "incident"


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        pytest.param(0.4, ["Cause: inspect gets 12 requests/s, the limit is 8"], id="found too late"),
        pytest.param(0.0, [], id="said at the beginning"),
    ],
)
def test_the_end_says_the_cause_that_no_message_said(begin, monkeypatch, seconds, says):
    """A ticket has two messages: what was found after the first is in the last."""
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.1)

    async def test(one, robots):
        await say(one, robots, alert())
        await asyncio.sleep(2 * seconds)
        return await say(one, robots, alert(status="resolved"))

    _, lines, _ = begin(Judged(cause(), seconds=seconds), test)

    assert lines[0].startswith("Resolved after")
    assert lines[1:] == says


def test_an_end_waits_for_the_look_and_the_bill_at_once(begin, monkeypatch):
    """Where Prometheus answers neither: one after the other, a message would not wait for the end's line."""
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(module, "_LOOK_SECONDS", 120.0)
    asked, released = threading.Event(), threading.Event()

    def hung(*_asked, **_more):
        asked.set()
        released.wait(60)
        raise ClientError("too late")

    monkeypatch.setattr(module, "bill", hung)
    judged = Judged(seconds=60)

    async def test(one, robots):
        # The first look is over at once, the second one hangs.
        judged.released.set()
        await one.above([alert()], robots["oncall"])
        judged.released.clear()
        monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
        both = [alert(status="resolved"), alert("TritonServerDown", "other")]
        message = asyncio.create_task(one.above(both, robots["oncall"]))
        at_once = await asyncio.to_thread(asked.wait, 20)
        judged.released.set()
        released.set()
        return at_once, await message

    at_once, said = begin(judged, test)

    assert at_once
    assert any(text.startswith("Resolved after") for text in texts(said))


def test_an_incident_that_goes_on_after_its_end_has_another_bill(begin, monkeypatch):
    """Of the whole of it: the one of its first end is older than what failed since."""
    monkeypatch.setattr(module, "bill", lambda _prometheus, _plan, one, _fleet, _now, **_more: made(one))

    def made(one):
        return cost(
            one, one.ended, Fleet(edges={}), requests=[Requests(model="m", failed=len(one.alerts), late=0)]
        )

    async def test(one, robots):
        await one.above([alert()], robots["oncall"])
        first = await one.above([alert(status="resolved")], robots["oncall"])
        await one.above([alert("TritonServerDown")], robots["oncall"])
        goes_on = dict(one.bills)
        return (
            first,
            goes_on,
            await one.above([alert("TritonServerDown", status="resolved")], robots["oncall"]),
        )

    (first,), goes_on, (second,) = begin(Judged(), test)

    assert ("1 requests failed" in first.text, goes_on) == (True, {})
    assert "2 requests failed" in second.text


@pytest.mark.parametrize(
    ("cluster", "bills"), [pytest.param("shop", 1, id="own"), pytest.param("west", 0, id="another cluster")]
)
def test_an_incident_of_another_cluster_has_no_bill(begin, monkeypatch, cluster, bills):
    """Prometheus would say what models of the same names cost in this one."""
    monkeypatch.setattr(module, "bill", lambda *args, **_: cost(args[2], args[4], Fleet(edges={})))

    async def test(one, robots):
        for status in ("firing", "resolved"):
            said = alert(status=status)
            labels = {**said.labels, "cluster": cluster}
            await one.above([said.model_copy(update={"labels": labels})], robots["oncall"])
        return len(one.bills)

    assert begin(Judged(), test) == bills


def test_what_was_read_is_kept_for_pages_and_only_for_them(begin, tmp_path):
    """A warning has an entry and no readings."""
    judged = Judged(cause(), cause("other", "other fails"))

    async def test(one, robots):
        warning = alert("TritonQueueWaitHigh", "other", severity="warning")
        await one.above([alert(), warning], robots["oncall"])
        for _ in range(100):
            await asyncio.sleep(0.1)
            kept = [path.name.count(".") for path in (tmp_path / "kept").glob("*.json")]
            if kept.count(1) == 2 and kept.count(2):
                return

    begin(judged, test, "folder: kept")

    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    entries = [name for name in names if name.count(".") == 1]
    assert len(entries) == 2
    assert len(judged.saved) >= 1
    assert {name.split(".")[0] for name in judged.saved} < {name.split(".")[0] for name in entries}


def test_a_folder_that_cannot_be_written_is_said_once(begin, tmp_path, caplog):
    """The messages go on."""
    (tmp_path / "kept").write_text("a file")

    async def test(one, robots):
        lines = await one.above([alert()], robots["oncall"])
        await asyncio.sleep(0.2)
        await one.above([alert("TritonServerDown", "other")], robots["oncall"])
        await asyncio.sleep(0.2)
        return lines

    with caplog.at_level(logging.WARNING):
        first = begin(Judged(cause()), test, "folder: kept")

    assert texts(first)[0].startswith("inspect gets")
    assert [record.message[:26] for record in caplog.records].count(
        "incidents are not kept: " + str(tmp_path)[:2]
    ) == 1


def test_the_fleet_files_folder_counts_from_the_fleet_file(tmp_path):
    """As every path does."""
    spec = read_text(FLEET.format(incidents="folder: kept"), "fleet.yaml").spec

    assert build_plan(spec, tmp_path).incidents.folder == Path(tmp_path / "kept")


def test_the_next_process_goes_on_with_what_was_kept(begin, tmp_path):
    """The incident keeps its id although its alert is told with another start."""
    judged = Judged(cause())

    async def first(one, robots):
        await one.above([alert()], robots["oncall"])
        await asyncio.sleep(0.3)
        return [incident.id for incident in one.incidents]

    async def second(one, robots):
        await asyncio.sleep(0.3)
        await one.above([alert(began=BEGAN + 20)], robots["oncall"])
        return [incident.id for incident in one.incidents]

    kept = begin(judged, first, "folder: kept")

    assert begin(judged, second, "folder: kept") == kept


def test_a_server_that_hangs_costs_less_than_a_message_waits() -> None:
    """Else the first message about it is always one without a cause."""
    assert 2 * module._SERVER_SECONDS < module._PATIENCE_SECONDS < module._LOOK_SECONDS
