"""Digests name every alert within the vendor's bytes, whatever the alerts are made of.

A user's template is tried before it is used, and can reach nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonobs.chats.dingtalk import CHAT, MOST_BYTES
from tritonobs.delivery.composer import Line, Style, compile_template, compose, try_template
from tritonobs.delivery.view import LANGUAGES, Link, view
from tritonobs.plan.notify import Mention

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.delivery.view import AlertView

EN = Style(chat=CHAT, words=LANGUAGES["en"], place="shop")
HOSTILE = st.text(min_size=0, max_size=60) | st.sampled_from(
    [
        "[x](http://evil)" * 20,
        '"\\\n' * 4000,
        "\u202eabc\u2066",
        "模" * 3400,
        "👩‍🔧" * 2000,
        "{{ 7*7 }}{% raw %}",
        "\x00\x1b[31m",
        "@all #### > - 1.",
    ]
)
GOOD = "{{ headline }} {% for a in alerts %}{{ a.name }} {{ a.subject }} {{ a.links }}{% endfor %}"


@pytest.fixture
def views(alert, reader) -> Callable[..., list[AlertView]]:
    """Makes views of alerts about models m0, m1 and so on."""

    def make(count: int, **more: object) -> list[AlertView]:
        return [
            view(alert(model=f"m{number}", fingerprint=f"f{number}", **more), reader())
            for number in range(count)
        ]

    return make


def test_one_alert_reads_like_this(views) -> None:
    """The whole text, as the group sees it."""
    (page,) = compose(
        [replace(views(1)[0], evidence="Latency breakdown: detector 78%", links=())], EN, MOST_BYTES
    )
    assert page.message.title == "🔴 1 firing · shop TritonQpsAboveLimit m0 version 1"
    assert page.message.text == (
        "#### 🔴 1 firing · shop\n\n"
        "**🔴 TritonQpsAboveLimit** m0 version 1  \n"
        "m0 gets 12 requests/s, the limit is 8.  \n"
        "critical · since 12:00:00 UTC (5m)\n\n"
        "> Latency breakdown: detector 78%"
    )


def test_worst_is_told_first_and_resolved_last(views, alert, reader) -> None:
    """In one message, under a heading that counts both."""
    mixed = [
        *views(1, status="resolved"),
        view(alert(model="late", severity="warning"), reader()),
        *views(2)[1:],
    ]
    (page,) = compose(mixed, EN, MOST_BYTES)
    assert page.message.text.startswith("#### 🔴 2 firing · ✅ 1 resolved · shop")
    places = [page.message.text.index(name) for name in ("m1 version", "late version", "m0 version")]
    assert places == sorted(places)


@pytest.mark.parametrize("count", [1, 20, 60, 200, 1000])
def test_every_alert_is_named_within_the_limit(views, count: int) -> None:
    """However many: in full while there is room, then in a line, then in a further message."""
    pages = compose(views(count), EN, MOST_BYTES)
    named = [state for page in pages for state in page.states]
    assert len(named) == len(set(named)) == count
    assert all(len(page.message.body()) <= MOST_BYTES for page in pages)
    text = "\n".join(page.message.text for page in pages)
    assert all(f"m{number} version 1" in text for number in range(count))
    assert len(pages) <= 1 + count // 150


def test_room_is_used(views) -> None:
    """A digest that must shorten some alerts shows as many in full as fit."""
    (page,) = compose(views(100), EN, MOST_BYTES)
    assert "requests/s" in page.message.text
    assert len(page.message.body()) > 0.9 * MOST_BYTES


@given(
    st.lists(
        st.fixed_dictionaries({"model": HOSTILE, "stage": HOSTILE, "team": HOSTILE}), min_size=1, max_size=12
    )
)
def test_hostile_labels_are_data(alert, reader, labels: list[dict[str, str]]) -> None:
    """No label breaks a message, makes a link or a mention, or hides another alert."""
    alerts = [
        alert(fingerprint=str(number), annotations={"description": one["model"]}, **one)
        for number, one in enumerate(labels)
    ]
    pages = compose([view(one, reader()) for one in alerts], EN, MOST_BYTES)
    assert sum(len(page.states) for page in pages) == len(alerts)
    for page in pages:
        assert len(page.message.body()) <= MOST_BYTES
        assert page.message.said["at"] == {"atMobiles": (), "atUserIds": (), "isAtAll": False}
        assert "](http://evil" not in page.message.text


def test_people_are_called_once_each(views) -> None:
    """In the text and in the fields, as DingTalk wants it."""
    rule = Mention(mobiles=("138", "139"), user_ids=("lee",), everyone=True)
    (page,) = compose([replace(one, mentions=(rule,)) for one in views(3)], EN, MOST_BYTES)
    message = page.message
    at = {"atMobiles": ("138", "139"), "atUserIds": ("lee",), "isAtAll": True}
    assert message.said["at"] == at
    assert message.text.endswith("@138 @139 @lee")


def test_keyword_stands_in_the_text(views) -> None:
    """For robots that take only messages with it."""
    (page,) = compose(views(1), replace(EN, keyword="triton-alerts"), MOST_BYTES)
    assert "triton-alerts" in page.message.text
    assert "triton-alerts" in page.message.title


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ headline }}", id="names nobody"),
        pytest.param("{{ alerts[0].name }} {{ alerts[0].subject }}", id="names only the first"),
        pytest.param("{{ alerts[7].name }}", id="fails for some digests"),
        pytest.param(
            "{{ 'x' * 30000 }}{% for a in alerts %}{{ a.name }} {{ a.subject }}{% endfor %}", id="too long"
        ),
    ],
)
def test_bad_template_never_loses_an_alert(views, template: str) -> None:
    """Where a user's template fails, ours takes its place."""
    style = replace(EN, template=compile_template(template))
    pages = compose(views(3), style, MOST_BYTES)
    text = "\n".join(page.message.text for page in pages)
    assert all(f"m{number} version 1" in text for number in range(3))
    assert all(len(page.message.body()) <= MOST_BYTES for page in pages)


def test_own_template_is_used(views) -> None:
    """A good one makes the whole text."""
    template = "{% for a in alerts %}{{ a.name }}/{{ a.subject }};{% endfor %}"
    (page,) = compose(views(2), replace(EN, template=compile_template(template)), MOST_BYTES)
    assert page.message.text == "TritonQpsAboveLimit/m0 version 1;TritonQpsAboveLimit/m1 version 1;"


def test_short_alerts_are_a_list_of_their_own(views) -> None:
    """Set apart from the last one in full, one line each."""
    (page,) = compose(views(100), EN, MOST_BYTES)
    lines = page.message.text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("- "))
    assert lines[first - 1] == ""
    assert all(line.startswith("- 🔴 **TritonQpsAboveLimit** m") for line in lines[first:] if line)


def test_what_is_wrong_stands_above_the_alerts_of_the_first_message_only(views):
    """The title, which is all a telephone shows, begins with it."""
    above = (Line(text="inspect gets too much", links=(Link(word="incident", url="http://s/incidents/1"),)),)

    first, *rest = compose(views(400), replace(EN, above=above), MOST_BYTES)

    assert "**inspect gets too much** · [incident](http://s/incidents/1)" in first.message.text
    assert "inspect gets too much" in first.message.title
    assert rest != []
    assert all("too much" not in page.message.text for page in rest)


def test_where_there_is_no_room_for_both_the_alert_is_named(views):
    """A robot that takes very short messages still says what fires."""
    above = (Line(text="x" * 250),)
    (alone,) = compose(views(1), EN, MOST_BYTES)
    most = len(alone.message.body()) + 100

    (page,) = compose(views(1), replace(EN, above=above), most)

    assert "xxx" not in page.message.text
    assert page.message.text == alone.message.text


def test_a_template_of_a_user_may_say_it_or_not(views):
    """`above` is there for those who want it."""
    named = "{% for one in alerts %}{{ one.name }} {{ one.subject }} {% endfor %}"
    shows = "{% for line in above %}{{ line.text }} {% endfor %}" + named
    style = replace(EN, above=(Line(text="why"),))

    (with_it,) = compose(views(1), replace(style, template=compile_template(shows)), MOST_BYTES)

    assert with_it.message.text.startswith("why ")


def test_good_template_is_taken() -> None:
    """It showed every alert of the sample."""
    try_template(GOOD)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{% for a in alerts %}", "line 1", id="no Jinja2"),
        pytest.param("{{ headlin }}", "'headlin' is undefined", id="a word misspelt"),
        pytest.param("{{ alerts[0].labelz }}", "has no attribute", id="a field misspelt"),
        pytest.param("{{ headline }}", "name and subject of every alert", id="an alert left out"),
        pytest.param("{{ alerts.__class__.__mro__ }}", "unsafe", id="a way out of the sandbox"),
        pytest.param("{% include '/etc/passwd' %}", "no loader", id="another file"),
        pytest.param("{{ 1 // 0 }}", "ZeroDivisionError", id="fails"),
        pytest.param("{{ alerts[0].labels.update(x=1) }}", "unsafe|Security", id="changes an alert"),
    ],
)
def test_bad_template_is_refused_with_a_reason(text: str, words: str) -> None:
    """At load, not at three in the morning."""
    with pytest.raises(ValueError, match=words):
        try_template(text)
