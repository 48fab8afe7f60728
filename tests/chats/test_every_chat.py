"""What holds for each chat of the registry, the next one included."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonobs.chats.chat import RobotChat
from tritonobs.chats.registry import NAMES, chats, robot_chats
from tritonobs.cli.serve import serve
from tritonobs.clients.chat import require_webhook
from tritonobs.clients.secrets import Secret
from tritonobs.delivery.composer import Composer, Said, fill, house_template
from tritonobs.delivery.view import plain
from tritonobs.errors import SecretUnusable
from tritonobs.plan.build import build_plan
from tritonobs.plan.notify import Mention
from tritonobs.render.alertmanager import receivers
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.plan.fleet import Plan

ROOT = Path(__file__).parents[2]
FLEET = {
    "fleet": "shop",
    "replicas": [{"name": "a", "url": "http://10.0.0.1:8000"}],
    "models": {"inspect": {}},
}
ROBOTS = [pytest.param(chat, id=chat.name) for chat in robot_chats()]
HOSTILE = st.text(max_size=80) | st.sampled_from(
    [
        "[x](http://evil)" * 20,
        "<http://evil|click>",
        "<a href='http://evil'>x</a><at id=all></at><at user_id='all'>all</at>",
        "<!channel> <!everyone> <@all> <@U123> @all @everyone @channel",
        '"}],"elements":[{"tag":"button"}]}',
        "**b** __i__ ~~s~~ `c` > q\n# h\n- l\n1. n",
        "![x](http://evil/x.png) &lt;at&gt; &amp;",
        "_italic_ *bold* ~gone~ |a|b| \\[x\\](http://evil)",
        "{{ 7*7 }}{% raw %} ${x} {0}",
        "\u202eabc\u2066\x00\x1b[31m",
        "模" * 3400,
        '"\\\n' * 4000,
    ]
)


@pytest.fixture(scope="module", name="plan")
def _plan() -> Plan:
    """That of the example."""
    return build_plan(load_fleet(ROOT / "examples" / "fleet.yaml"), ROOT)


@pytest.mark.parametrize("chat", chats().values(), ids=chats())
def test_a_chat_is_one_module_of_at_most_200_lines_with_its_sources(chat) -> None:
    """Its facts say where they are from, and its entries in the fleet file have a sentence each."""
    text = inspect.getsource(inspect.getmodule(chat))

    assert len(text.splitlines()) <= 200
    assert not isinstance(chat, RobotChat) or "documentation" in text.split('"""')[1]
    assert [name for name, field in chat.section.model_fields.items() if not field.description] == []


def test_every_module_is_the_chat_of_its_name() -> None:
    """The registry finds modules; the fleet file has the names of chats."""
    assert {name: chat.name for name, chat in chats().items()} == {name: name for name in NAMES}


@pytest.mark.parametrize("chat", ROBOTS)
def test_a_robot_has_a_receiver_a_path_and_a_test(chat: RobotChat, tmp_path: Path) -> None:
    """Of an entry in the fleet file, the plan, Alertmanager's routes and serve know the rest."""
    fleet = tmp_path / "fleet.yaml"
    entry = {"webhook_env": "WEBHOOK", **chat.example}
    fleet.write_text(json.dumps({**FLEET, "notify": {chat.name: {"oncall": entry}}}), encoding="utf-8")

    plan = build_plan(load_fleet(fleet), tmp_path)

    name = f"{chat.name}/oncall"
    (robot,) = plan.notify.robots
    assert (robot.receiver, robot.messages_per_minute) == (name, chat.per_minute())
    hooks = {one["name"]: one.get("webhook_configs") for one in receivers(plan)}
    assert hooks[name][0]["url"].endswith(f"/alertmanager/{name}")
    assert f"--{chat.name}-url" in [option for one in serve.params for option in one.opts]


@pytest.mark.parametrize("name", chats())
def test_a_chat_stands_nowhere_else_in_the_package(name: str) -> None:
    """No other module of the heart knows it by its name; the word for readers may stand in a text."""
    word = re.compile(rf"""["'/]{name}["'/.]|\b{name}_|\.{name}\b""")
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tritonobs").rglob("*.py")
        if "extensions" not in path.parts and path.parent.name != "chats"
        if word.search(re.sub(r'""".*?"""|#.*', "", path.read_text(encoding="utf-8"), flags=re.DOTALL))
    ]

    assert found == []


@pytest.mark.parametrize("name", chats())
def test_a_chat_has_a_page_in_both_languages(name: str) -> None:
    """docs/chats/NAME.md, with an entry of the fleet file and the facts."""
    page = ROOT / "docs" / "chats" / f"{name}.md"

    assert page.is_file(), f"write docs/chats/{name}.md"
    english, _, chinese = page.read_text(encoding="utf-8").partition("\n## 中文\n")
    assert f"  {name}:" in english
    assert len(re.findall("[\u4e00-\u9fff]", chinese)) > 50


@pytest.mark.parametrize("chat", ROBOTS)
@given(labels=st.lists(HOSTILE, min_size=1, max_size=8))
def test_hostile_labels_are_data(chat: RobotChat, plan: Plan, alert, robot, labels: list[str]) -> None:
    """No label breaks a message, makes a link or a mention, or hides another alert."""
    alerts = [
        alert(fingerprint=str(at), model=text, stage=text, team=text, annotations={"description": text})
        for at, text in enumerate(labels)
    ]
    composer = Composer(plan=plan, templates={})
    said = (Said(labels[0], "incident", "http://serve/incidents/1"),)

    pages = composer.write(alerts, {}, robot(chat=chat.name), chat.most_bytes, said)

    assert sum(len(page.states) for page in pages) == len(alerts)
    for page in pages:
        body = page.message.body()
        assert len(body) <= chat.most_bytes
        for text in _texts(json.loads(body)):
            assert not re.search(r"\]\(<?http://evil|<http://evil|<!|<at |<@|<a ", text)
            assert not set(text) & set("\x00\x1b\u202e\u2066")


ACTIVE = {
    "feishu": r"<at|&#?\w+;|:[A-Za-z]\w*:",
    "slack": r"<|&#?\w+;|:[A-Za-z]\w*:|(?<![^\W_])_|_(?![^\W_])",
    "teams": r"<at|&#?\w+;|\{\{|(?<![^\W_])_|_(?![^\W_])",
}
"""What a chat reads as more than text, beside what `plain` replaces for every chat."""
MARKED = st.lists(
    st.sampled_from(
        ["{{DATE(2026-03-01,SHORT)}}", "&lt;at&gt;", ":smile:", "_a_", "<at>", "a", " ", "{", "&", "_"]
    )
)


@pytest.mark.parametrize("name", ACTIVE)
@given(text=st.text(max_size=200) | MARKED.map("".join))
def test_what_only_one_chat_reads_as_markup_is_text_there(name: str, text: str) -> None:
    """Whatever it is made of."""
    shown = chats()[name].escape(plain(text, 300))

    assert not re.search(ACTIVE[name], shown)


@pytest.mark.parametrize("chat", ROBOTS)
@given(text=st.text(max_size=200))
def test_a_text_stays_one_line_and_is_not_escaped_twice(chat: RobotChat, text: str) -> None:
    """Titles and texts hold the same words."""
    once = chat.escape(plain(text, 100))

    assert "\n" not in once
    assert chat.escape(once) == once


@pytest.mark.parametrize("chat", ROBOTS)
def test_what_is_harmless_stays_as_it_is(chat: RobotChat) -> None:
    """Times, names of models, shares."""
    text = "since 12:00:00 UTC (5m) model_07 v1 p99 a:b 61% A&B Q&A {x} a/b"

    assert chat.escape(plain(text, 100)) == text


@pytest.mark.parametrize("chat", ROBOTS)
@pytest.mark.parametrize("count", [1, 40, 400])
def test_every_alert_is_named_within_the_size(chat: RobotChat, plan: Plan, alert, robot, count: int) -> None:
    """Over the limit, the rest goes into further messages, and no line is cut."""
    alerts = [alert(model=f"m{at}", fingerprint=f"f{at}") for at in range(count)]

    pages = Composer(plan=plan, templates={}).write(alerts, {}, robot(chat=chat.name), chat.most_bytes)

    said = "\n".join("\n".join(_texts(json.loads(page.message.body()))) for page in pages)
    assert all(len(page.message.body()) <= chat.most_bytes for page in pages)
    assert [at for at in range(count) if f"m{at} version 1" not in said] == []
    assert sum(len(page.states) for page in pages) == count


@pytest.mark.parametrize("chat", ROBOTS)
def test_the_digest_has_the_marks_of_the_chat(chat: RobotChat) -> None:
    """Its bold, its links."""
    text = fill(house_template(chat), headline="1 firing", alerts=(), mentions="", above=())

    assert text == f"{chat.dialect.heading[0]}1 firing{chat.dialect.heading[1]}".strip()


@pytest.mark.parametrize("chat", ROBOTS)
def test_people_are_mentioned_only_where_a_rule_says_so(chat: RobotChat, plan: Plan, alert, robot) -> None:
    """An alert without people has no mention; one with them has it in the body."""
    people = Mention(user_ids=("lee",), everyone=True)
    composer = Composer(plan=plan, templates={})

    (without,) = composer.write([alert()], {}, robot(chat=chat.name), chat.most_bytes)
    (with_people,) = composer.write([alert()], {}, robot(chat=chat.name, mentions=(people,)), chat.most_bytes)

    assert "lee" not in without.message.body().decode()
    assert "lee" in with_people.message.body().decode()


@pytest.mark.parametrize("chat", ROBOTS)
@pytest.mark.parametrize(
    "webhook",
    ["", "SECabc", "https://", "https://example.org/", "https://[oapi/x", "ftp://example.org/a/b/c"],
)
def test_an_address_of_another_kind_is_refused_unseen(chat: RobotChat, webhook: str) -> None:
    """What is not a webhook of this chat is never posted to, and no text quotes it."""
    with pytest.raises(SecretUnusable, match=re.escape(f"not {chat.title}'s; it looks like")) as caught:
        require_webhook(chat, Secret(webhook))
    assert len(webhook) < 5 or webhook not in str(caught.value).replace(chat.webhook_like, "")


def _texts(said: Any) -> Iterator[str]:
    """Every text of a JSON value."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, dict | list):
        for below in said.values() if isinstance(said, dict) else said:
            yield from _texts(below)
