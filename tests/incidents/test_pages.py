"""Incidents as serve shows them: pages with pictures, and a bounded number of series; names are data."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from urllib.parse import quote

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from support.incidents.conversations import EPOCH, alert_of
from support.incidents.serving import (
    Judged,
    alert,
    cause,
    get,
)
from tritonobs import names
from tritonobs.extensions.incidents import pages as drawing
from tritonobs.extensions.incidents.incident import ident
from tritonobs.extensions.incidents.join import State, join
from tritonobs.extensions.incidents.pages import MOST_ALERTS, MOST_NAMED, IncidentSeries

HOSTILE = "<script>alert(1)</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
FAST = "TritonErrorBudgetBurnFast"


def test_pages_show_incidents_and_names_in_them_are_data(begin):
    """For people who come from a message, and for people who look for one."""

    async def test(one, robots):
        await one.above([alert(), alert("TritonModelUnloaded", HOSTILE)], robots["oncall"])
        return one.incidents, one

    async def looked(one, robots):
        incidents, _ = await test(one, robots)
        paths = ["/incidents", *(f"/incidents/{incident.id}" for incident in incidents)]
        paths += [f"{path}?lang=zh" for path in paths]
        missing = ["/incidents/20260101-0000-0000000000", "/incidents/.."]
        return incidents, [await get(one, path) for path in paths], [await get(one, path) for path in missing]

    judged = Judged(cause(sentence=f"inspect {HOSTILE}"))
    incidents, answers, missing = begin(judged, looked)

    assert len(incidents) == 2
    assert [status for status, _ in (*answers, *missing)] == [*[200] * 6, 404, 404]
    for _, text in answers:
        assert "<script" not in text
        assert "&lt;script&gt;" in text
    assert 'http-equiv="refresh"' in answers[1][1]
    assert "/runbooks/TritonQpsAboveLimit" in "".join(text for _, text in answers)
    assert "width=device-width" in answers[0][1]
    assert "<h2>时间线</h2>" in answers[4][1]
    assert 'href="/runbooks/TritonQpsAboveLimit?lang=zh"' in "".join(text for _, text in answers)


def test_an_id_by_which_another_process_calls_it_leads_to_its_page(begin):
    """A process that heard of the second alert first named the incident after it."""

    async def looked(one, robots):
        await one.above([alert(), alert("TritonQueueWaitHigh")], robots["oncall"])
        (incident,) = one.incidents
        names = {ident(each.key, each.starts) for each in incident.alerts}
        answers = [await get(one, f"/incidents/{name}") for name in sorted(names)]
        return names, incident, answers

    called, incident, answers = begin(Judged(cause()), looked)

    assert len(called) == 2
    assert incident.id in called
    assert [status for status, _ in answers] == [200, 200]


@pytest.mark.parametrize(
    ("draws", "pictures"),
    [
        pytest.param(lambda *_, **__: [("Requests & more", SVG)], 1, id="drawn"),
        pytest.param(lambda *_, **__: 1 / 0, 0, id="a slip"),
        pytest.param(None, 0, id="no part draws"),
    ],
)
def test_the_page_has_pictures_where_they_can_be_drawn(begin, draws, pictures):
    """And is shown in any case, with a silence for what goes on and commands to copy."""

    async def test(one, robots):
        one.pictures._draw = draws
        await one.above([alert(), alert("TritonQueueWaitHigh")], robots["oncall"])
        return await get(one, f"/incidents/{one.incidents[0].id}")

    status, text = begin(Judged(cause()), test)

    assert (status, text.count("data:image/svg+xml;base64,")) == (200, pictures)
    assert ("Requests &amp; more" in text) is bool(pictures)
    matchers = '{alertname=~"TritonQpsAboveLimit|TritonQueueWaitHigh",cluster="shop",model="inspect"}'
    assert f'href="http://127.0.0.1:3/#/silences/new?filter={quote(matchers, safe="")}"' in text
    assert "tritonobs triage --model inspect" in text


def test_pictures_that_take_long_come_with_the_next_page(begin, monkeypatch):
    """The page does not wait for them, and loads itself again soon."""
    monkeypatch.setattr(drawing, "_PATIENCE_SECONDS", 0.01)
    ready = threading.Event()

    def draw(*_, **__):
        assert ready.wait(10)
        return [("Requests", SVG)]

    async def test(one, robots):
        one.pictures._draw = draw
        await one.above([alert()], robots["oncall"])
        path = f"/incidents/{one.incidents[0].id}"
        first = await get(one, path)
        ready.set()
        await one.pictures._drawing
        return first[1], (await get(one, path))[1]

    first, second = begin(Judged(cause()), test)

    assert ('content="3"' in first, "data:image" in first) == (True, False)
    assert ('content="15"' in second, "data:image" in second) == (True, True)


def test_names_are_words_of_a_shell_in_commands(begin):
    """They are copied into one."""

    async def test(one, robots):
        await one.above([alert(model="a; rm -rf ~")], robots["oncall"])
        return (await get(one, f"/incidents/{one.incidents[0].id}"))[1]

    assert "tritonobs triage --model &#39;a; rm -rf ~&#39;" in begin(Judged(), test)


@pytest.fixture
def shown(fleet):
    """What the page says after these alerts and verdicts; one series of one process."""
    series, registry = IncidentSeries(), CollectorRegistry()
    registry.register(series)

    def shown(at, alerts, verdict=None):
        step = join(shown.state, EPOCH + at, alerts, fleet, verdict)
        shown.state = step.state
        series.show(step.incidents)
        return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]

    shown.state = State()
    return shown


def test_in_calm_there_is_a_number_and_no_incident(shown) -> None:
    """Zero, so that a board can say so."""
    assert shown(60, []) == [
        'tritonobs_incidents{severity="warning"} 0.0',
        'tritonobs_incidents{severity="critical"} 0.0',
    ]


def test_an_incident_has_its_sentence_and_when_it_began(shown, life, cause, verdict) -> None:
    """As the message says it."""
    lines = shown(
        60, [alert_of(life(FAST, 60, model="ocr"), 60)], verdict(cause("bad_deploy", "ocr", "2", since=20))
    )

    assert lines[1] == 'tritonobs_incidents{severity="critical"} 1.0'
    line, alert = lines[2:]
    assert alert.startswith(names.INCIDENT_ALERT_SINCE + "{")
    assert line.startswith(names.INCIDENT_SINCE + "{")
    assert 'sentence="bad_deploy at ocr/2",severity="critical"} 1.80000002e+09' in line


def test_numbers_that_move_make_no_series(shown, life, cause, verdict) -> None:
    """The sentence is the first one of its cause; another cause has another."""
    found = cause("error_surge", "ocr", "2")
    alerts = [alert_of(life(FAST, 60, model="ocr"), 60)]
    first = shown(60, alerts, verdict(replace(found, sentence="12 % fail")))

    assert shown(75, [], verdict(replace(found, sentence="13 % fail"))) == first
    assert (
        "a bad deploy"
        in shown(90, [], verdict(replace(found, check="bad_deploy", sentence="a bad deploy")))[2]
    )


def test_what_is_over_is_not_shown(shown, life) -> None:
    """The board shows what goes on."""
    shown(60, [alert_of(life(FAST, 60, 100, model="ocr"), 60)])

    assert len(shown(100, [alert_of(life(FAST, 60, 100, model="ocr"), 100)])) == 2


def test_many_incidents_are_counted_and_few_have_a_series(shown, life) -> None:
    """A storm that is parted must not fill Prometheus."""
    lines: list[str] = []
    for number in range(MOST_NAMED + 5):
        at = 60 + 200 * number
        lines = shown(at, [alert_of(life(FAST, at, model=f"m{number}"), at)])

    assert lines[1] == f'tritonobs_incidents{{severity="critical"}} {MOST_NAMED + 5}.0'
    assert len(lines) == 2 + MOST_NAMED + MOST_NAMED
    assert sum(line.startswith(names.INCIDENT_SINCE) for line in lines) == MOST_NAMED


def test_hostile_sentences_are_data(shown, life, cause, verdict) -> None:
    """A quote and a line break in a name."""
    hostile = replace(cause("bad_deploy", "ocr", "2"), sentence='a"} 1\nevil 2')
    lines = shown(60, [alert_of(life(FAST, 60, model="ocr"), 60)], verdict(hostile))

    assert len(lines) == 4
    assert not any(line.startswith("evil") for line in lines)


def rows(lines):
    """The alerts of incidents: what a board shows of each, and since when."""
    return {
        re.sub(r'incident="[^"]*",', "", line.partition("{")[2].rpartition("}")[0]): float(
            line.rpartition(" ")[2]
        )
        for line in lines
        if line.startswith(names.INCIDENT_ALERT_SINCE)
    }


def row(name, model="", version="", stage="", robot=""):
    """The labels of one."""
    values = {"alertname": name, "model": model, "version": version, "stage": stage, "robot": robot}
    return ",".join(f'{key}="{value}"' for key, value in sorted(values.items()))


def test_alerts_that_fire_say_their_incident(shown, life) -> None:
    """Under the names that boards show; what ended is not said."""
    first, second = life(FAST, 60, model="ocr", version="2"), life("TritonWorkerDead", 75, 100, model="ocr")
    both = shown(80, [alert_of(first, 80), alert_of(second, 80)])
    later = shown(110, [alert_of(second, 110)])

    assert rows(both) == {row(FAST, "ocr", "2"): EPOCH + 60, row("TritonWorkerDead", "ocr"): EPOCH + 75}
    assert rows(later) == {row(FAST, "ocr", "2"): EPOCH + 60}


def test_alerts_that_a_board_shows_as_one_are_one_series(shown, life) -> None:
    """They differ in labels that a board does not show."""
    lives = [
        life(FAST, 60 + 5 * n, model="ocr", slo=slo) for n, slo in enumerate(("availability", "latency"))
    ]

    assert rows(shown(80, [alert_of(one, 80) for one in lives])) == {row(FAST, "ocr"): EPOCH + 60}


def test_many_alerts_have_a_bounded_number_of_series(shown, life) -> None:
    """A storm of one incident; the first alerts of the worst incident are said."""
    lives = [life(FAST, 60 + n / 100, model="ocr", stage=f"s{n:03}") for n in range(MOST_ALERTS + 50)]
    found = rows(shown(80, [alert_of(one, 80) for one in lives]))

    assert len(found) == MOST_ALERTS
    assert row(FAST, "ocr", stage="s000") in found


def test_hostile_alerts_are_data(shown, life) -> None:
    """Quotes, line breaks, halves of characters; a name that is too long for a board is on none."""
    lives = [
        life(FAST, 60, model="ocr", stage='a"} 1\nevil 2'),
        life(FAST, 61, model="ocr", stage="half \ud800"),
        life(FAST, 62, model="ocr", stage="x" * 5000),
    ]
    lines = shown(80, [alert_of(one, 80) for one in lives])

    assert not any(line.startswith("evil") for line in lines)
    assert sorted(rows(lines).values()) == [EPOCH + 60, EPOCH + 61]
