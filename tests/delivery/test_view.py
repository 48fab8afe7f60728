"""An alert as a message shows it."""

from __future__ import annotations

from datetime import timedelta, timezone
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tritonobs.delivery.view import view
from tritonobs.plan.notify import Mention


def test_firing_alert_says_what_where_since_when(alert, reader) -> None:
    """Name, model and version, severity, description, beginning and age."""
    shown = view(alert(), reader())
    assert (shown.icon, shown.name, shown.subject) == ("🔴", "TritonQpsAboveLimit", "inspect version 1")
    assert shown.severity == "critical"
    assert shown.text == "inspect gets 12 requests/s, the limit is 8."
    assert shown.time == "since 12:00:00 UTC (5m)"


def test_resolved_alert_says_from_when_to_when(alert, reader) -> None:
    """The numbers of the last firing moment are gone, like the silence nobody needs any more."""
    shown = view(alert(status="resolved", endsAt="2026-03-01T12:03:30Z"), reader())
    assert (shown.icon, shown.text) == ("✅", "")
    assert shown.time == "12:00:00 to 12:03:30 UTC (3m30s)"
    assert [link.word for link in shown.links] == []


def test_times_are_the_readers(alert, reader) -> None:
    """In the time zone of the fleet file; the date too, when it is not today's."""
    shanghai = reader(zone=timezone(timedelta(hours=8)))
    assert view(alert(startsAt="2026-03-01T12:00:00Z"), shanghai).time == "since 20:00:00 UTC+08:00 (5m)"
    assert (
        view(alert(startsAt="2026-02-28T12:00:00Z"), shanghai).time == "since 02-28 20:00:00 UTC+08:00 (1d5m)"
    )


def test_chinese_reader_gets_chinese_words(alert, reader) -> None:
    """And the Chinese annotation, where the rule has one."""
    annotations = {"description": "too much", "description_zh": "请求过多"}
    shown = view(alert(annotations=annotations, stage="decode"), reader("zh"))
    assert (shown.subject, shown.severity, shown.text) == ("inspect 版本 1 阶段 decode", "严重", "请求过多")
    assert view(alert(annotations=annotations), reader()).text == "too much"


def test_silence_link_has_every_label_filled_in(alert, reader) -> None:
    """The page opens with matchers that select exactly this alert."""
    silence = view(alert(model='a"b\\c 模'), reader()).links[-1]
    parts = urlsplit(silence.url)
    assert (silence.word, parts.netloc) == ("silence", "am:9093")
    path, _, query = unquote(parts.fragment).partition("?")
    assert path == "/silences/new"
    assert parse_qs(query)["filter"] == [
        '{alertname="TritonQpsAboveLimit",model="a\\"b\\\\c 模",severity="critical",version="1"}'
    ]


def test_links_of_the_alert_are_shown_when_they_are_the_webs(alert, reader) -> None:
    """Board and runbook from the annotations; what is no web address is left out."""
    annotations = {"dashboard_url": "https://g/d/x", "runbook_url": "javascript:alert(1)"}
    links = view(alert(annotations=annotations), reader()).links
    assert [(link.word, link.url) for link in links[:-1]] == [("board", "https://g/d/x")]


@pytest.mark.parametrize(
    ("labels", "subject"),
    [
        pytest.param({"model": "", "version": "", "replica": "a"}, "a", id="a replica's alert"),
        pytest.param({"model": "", "version": "", "job": "triton"}, "triton", id="a job's"),
        pytest.param({"model": "", "version": ""}, "", id="nobody's"),
        pytest.param({"slo": "latency"}, "inspect version 1 latency", id="an SLO's"),
    ],
)
def test_subject_is_whatever_the_alert_is_about(alert, reader, labels: dict[str, str], subject: str) -> None:
    """Model, version, stage and SLO; or the replica, or the job."""
    assert view(alert(**labels), reader()).subject == subject


def test_worst_and_oldest_sort_first(alert, reader) -> None:
    """Firing before resolved, then by severity, then by age; a severity we do not know counts as warning."""
    alerts = [
        alert(model="e", status="resolved"),
        alert(model="d", severity="info"),
        alert(model="c", severity="page-me", startsAt="2026-03-01T11:00:00Z"),
        alert(model="b"),
        alert(model="a", startsAt="2026-03-01T11:00:00Z"),
    ]
    ordered = sorted((view(one, reader()) for one in alerts), key=lambda shown: shown.rank)
    assert [shown.subject[0] for shown in ordered] == list("abcde")


def test_people_are_called_for_matching_firing_alerts_only(alert, reader) -> None:
    """A rule matches when every label it names has one of its values."""
    rule = Mention(match=(("severity", ("critical",)), ("model", ("inspect", "nms"))), mobiles=("138",))
    for_us = reader(mentions=(rule,))
    assert view(alert(), for_us).mentions == (rule,)
    assert view(alert(model="other"), for_us).mentions == ()
    assert view(alert(status="resolved"), for_us).mentions == ()
