"""An alert as a message shows it; text from outside is shown, never obeyed."""

from __future__ import annotations

from datetime import timedelta, timezone
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonobs.delivery.view import plain, view, web_address
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("inspect v1", "inspect v1", id="plain"),
        pytest.param("a\n# heading\n- item", "a # heading - item", id="newlines end no line"),
        pytest.param("[click](http://evil)", "[click] (http://evil)", id="link"),
        pytest.param("![x](http://evil/x.png)", "![x] (http://evil/x.png)", id="image"),
        pytest.param(
            "**bold** `code`", "\u2217\u2217bold\u2217\u2217 \u02cbcode\u02cb", id="emphasis and code"
        ),
        pytest.param("<font color=red>x</font>", "\u2039font color=red\u203ax\u2039/font\u203a", id="HTML"),
        pytest.param(
            "a\u202eb\u2066c\u0000d",
            "a\u29f5u202eb\u29f5u2066c\u29f5u0000d",
            id="direction and control characters",
        ),
        pytest.param("缺陷检测 👩‍🔧", "缺陷检测 👩‍🔧", id="Chinese and joined emoji"),
        pytest.param("# big", "\uff03 big", id="a heading"),
        pytest.param("---", "\u2011\u2011\u2011", id="a rule"),
        pytest.param("- x", "\u2011 x", id="a list"),
        pytest.param("1. x", "1\u2024 x", id="a numbered list"),
        pytest.param("-5 is -5, a#1 is a#1", "-5 is -5, a#1 is a#1", id="numbers and signs within a text"),
        pytest.param("x" * 50, "x" * 9 + "…", id="cut"),
        pytest.param("\ud800", "\u29f5ud800", id="half a surrogate"),
    ],
)
def test_text_is_made_plain(text: str, shown: str) -> None:
    """One line, at most so long, no markup."""
    assert plain(text, 10 if text.startswith("xx") else 100) == shown


@given(st.text(max_size=400), st.integers(2, 80))
def test_any_text_is_one_short_harmless_line(text: str, most: int) -> None:
    """Whatever it is made of."""
    shown = plain(text, most)
    assert len(shown) <= most
    assert not set(shown) & set("*`<>|~\\\n\r\u202e\u2067")
    assert "](" not in shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("https://g/d/x?var-model=a&b=c#d", "https://g/d/x?var-model=a&b=c#d", id="kept"),
        pytest.param("http://g/a b(c)", "http://g/a%20b%28c%29", id="cannot end the link"),
        pytest.param("http://g/模型", "http://g/%E6%A8%A1%E5%9E%8B", id="Chinese"),
        pytest.param("http://[::1]:3000/d/[x]", "http://[::1]:3000/d/%5Bx%5D", id="a host of IPv6"),
        pytest.param("javascript:alert(1)", "", id="script"),
        pytest.param("dingtalk://x", "", id="another application"),
        pytest.param("http://[::1", "", id="malformed"),
        pytest.param("/relative", "", id="no host"),
    ],
)
def test_address_is_encoded_or_left_out(text: str, address: str) -> None:
    """Only the web's addresses become links."""
    assert web_address(text) == address
