"""Each vendor's answers, from doubles as strict as the vendors: a clear word for each, no secret in it."""

from __future__ import annotations

import re
import time
import traceback
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs.chats.chat import Digest, Heard, People, Verdict, retry_after
from tritonobs.chats.registry import robot_chat, robot_chats
from tritonobs.clients.chat import ChatClient
from tritonobs.clients.secrets import Secret
from tritonobs.delivery.composer import Composer
from tritonobs.errors import BadAnswer, ClientError, ConnectionBroken, TimedOut
from tritonobs.extensions.lab.robot import Fault, RobotDouble, RobotRules
from tritonobs.extensions.lab.vendors import VENDORS, Refusal
from tritonobs.plan.build import build_plan
from tritonobs.plan.notify import Mention
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.chats.chat import Message, Reply
    from tritonobs.plan.fleet import Plan

ROOT = Path(__file__).parents[2]
NAMES = [chat.name for chat in robot_chats()]
SIGNED = [name for name, vendor in VENDORS.items() if vendor.signed]
KEYED = [name for name in NAMES if "keyword" in robot_chat(name).section.model_fields]
VERDICTS = {
    Refusal.TOKEN: Verdict.REFUSED,
    Refusal.SIGNATURE: Verdict.REFUSED,
    Refusal.CLOCK: Verdict.REFUSED,
    Refusal.KEYWORD: Verdict.REFUSED,
    Refusal.TOO_FAST: Verdict.TOO_FAST,
    Refusal.TOO_LONG: Verdict.TOO_LONG,
}


@pytest.fixture(scope="module", name="plan")
def _plan() -> Plan:
    """That of the example."""
    return build_plan(load_fleet(ROOT / "examples" / "fleet.yaml"), ROOT)


def _read(chat: str, why: Refusal) -> Reply:
    """What a refusal means, by the words of the vendor's double."""
    rules = RobotRules(token="t", vendor=VENDORS[chat])
    said = rules.refusal(why)
    headers = {name.lower(): value for name, value in said.headers.items()}
    return robot_chat(chat).read(Heard(status=said.status, headers=headers, body=rules.vendor.written(said)))


@pytest.fixture(name="client")
def _client(request: pytest.FixtureRequest) -> Iterator[ChatClient]:
    """A client that waits longer than a busy machine takes; not for an answer that never comes."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    client = ChatClient(timeout_seconds=0.3 if parameters.get("fault") is Fault.TIMEOUT else 30.0)
    yield client
    client.close()


@pytest.fixture(params=NAMES, name="double")
def _double(request: pytest.FixtureRequest) -> Iterator[RobotDouble]:
    """A robot of each vendor, signed where it can be."""
    with RobotDouble(chat=request.param, timeout_seconds=1.0) as double:
        yield double


def _message(chat: str, text: str = "告警 inspect") -> Message:
    return robot_chat(chat).write(Digest(title="1 firing", text=text, people=People()))


def _send(client: ChatClient, double: RobotDouble, message: Message | None = None) -> Reply:
    secret = Secret(double.secret) if double.secret else None
    chat = robot_chat(double.chat)
    return client.send(chat, Secret(double.webhook_url), secret, message or _message(double.chat))


def test_every_chat_has_a_double() -> None:
    """What delivers to a chat is tried on one."""
    assert list(VENDORS) == NAMES, "VENDORS in tritonobs/extensions/lab/vendors.py, by name"


def test_a_message_is_accepted_and_shown(client: ChatClient, double: RobotDouble) -> None:
    """The strict robot takes signature, size and form; the group sees the text."""
    reply = _send(client, double)

    assert reply.verdict is Verdict.ACCEPTED, reply
    (seen,) = double.messages
    assert "告警 inspect" in seen.text


def test_what_is_composed_is_of_the_documented_form(
    client: ChatClient, double: RobotDouble, alert, robot, plan
) -> None:
    """Ten alerts, firing and resolved, with links, evidence and people."""
    people = (Mention(user_ids=("lee",)),)
    alerts = [alert(model=f"m{at}", fingerprint=f"f{at}") for at in range(9)]
    alerts.append(alert(model="over", fingerprint="o", status="resolved"))
    shares = {("", f"m{at}", "1"): "queue 64%" for at in range(9)}
    composer = Composer(plan=plan, templates={})

    pages = composer.write(
        alerts, shares, robot(chat=double.chat, mentions=people), robot_chat(double.chat).most_bytes
    )

    for page in pages:
        assert _send(client, double, page.message).verdict is Verdict.ACCEPTED
    said = "\n".join(message.text for message in double.messages)
    assert [name for name in (*(f"m{at}" for at in range(9)), "over") if name not in said] == []
    assert "queue 64%" in said
    assert double.messages[0].user_ids == ("lee",)


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        pytest.param(Fault.LOST_ANSWER, ConnectionBroken, "connection broken", id="lost answer"),
        pytest.param(Fault.STATUS_500, BadAnswer, "answered 500", id="500"),
        pytest.param(Fault.GARBAGE, BadAnswer, "answered 200 and something that is not", id="HTML"),
        pytest.param(Fault.REDIRECT, BadAnswer, "302: a redirect to elsewhere.example.org is", id="redirect"),
        pytest.param(Fault.TIMEOUT, TimedOut, "no answer within 0.3 s", id="timeout"),
        pytest.param(Fault.RESET, ConnectionBroken, "connection broken", id="reset"),
    ],
)
def test_a_broken_answer_is_our_error(
    client: ChatClient, double: RobotDouble, fault: Fault, error: type[ClientError], words: str
) -> None:
    """Nothing is sent a second time, or to another host, and no secret is in the words."""
    double.fail(fault)

    with pytest.raises(error, match=re.escape(words)) as caught:
        _send(client, double)

    assert len(double.attempts) == 1
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert not any(secret in told for secret in (double.rules.token, double.secret) if secret)


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.UNKNOWN], ids=lambda fault: fault.name)
def test_an_answer_that_means_later_is_not_acceptance(
    client: ChatClient, double: RobotDouble, fault: Fault
) -> None:
    """With HTTP 200, too."""
    double.fail(fault)

    assert _send(client, double).verdict in {Verdict.BUSY, Verdict.UNKNOWN}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dingtalk"])
@pytest.mark.parametrize(("fault", "seconds"), [(Fault.LIMITED, 1.0), (Fault.LIMITED_BARE, None)])
def test_429_says_how_long(client: ChatClient, name: str, fault: Fault, seconds: float | None) -> None:
    """With Retry-After as long as it says, without it as long as the vendor's limit lasts."""
    with RobotDouble(chat=name) as double:
        double.fail(fault)
        reply = _send(client, double)

    assert (reply.verdict, reply.pause_seconds) == (Verdict.TOO_FAST, seconds)


def test_a_robot_that_was_removed_is_said_so(client: ChatClient, double: RobotDouble) -> None:
    """The vendor's code and words, and what to repair."""
    double.fail(Fault.REVOKED)

    reply = _send(client, double)

    words = VENDORS[double.chat].refusals[Refusal.TOKEN]
    assert reply.verdict is Verdict.REFUSED
    assert str(words.errcode) in reply.said
    assert double.chat == "dingtalk" or "removed" in reply.hint


def test_a_long_message_is_too_long(client: ChatClient, double: RobotDouble) -> None:
    """A robot may take less than its vendor says."""
    double.rules.most_bytes = 200

    reply = _send(client, double, _message(double.chat, "x" * 300))

    assert reply.verdict is Verdict.TOO_LONG
    assert double.messages == []


def test_the_largest_message_is_accepted(client: ChatClient, double: RobotDouble, alert, robot, plan) -> None:
    """With the signature."""
    chat = robot_chat(double.chat)
    alerts = [alert(model=f"m{at}", fingerprint=f"f{at}") for at in range(300)]

    page, *_ = Composer(plan=plan, templates={}).write(alerts, {}, robot(chat=chat.name), chat.most_bytes)

    assert len(page.message.body()) > 0.9 * chat.most_bytes
    assert _send(client, double, page.message).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize(("off", "which"), [(3700, "ahead of"), (-3700, "behind")])
def test_a_signature_that_is_an_hour_off_says_the_clock(name: str, off: int, which: str) -> None:
    """The signature holds the time, so the clock is not where a person would look."""
    client = ChatClient(timeout_seconds=2.0, clock=lambda: time.time() + off)
    with RobotDouble(chat=name) as double:
        reply = _send(client, double)
    client.close()

    assert reply.verdict is Verdict.REFUSED
    assert re.search(rf"this machine's clock is \d+ s {which} ", reply.said)


@pytest.mark.parametrize("name", SIGNED)
def test_a_wrong_secret_is_refused(client: ChatClient, name: str) -> None:
    """And is not in the words."""
    with RobotDouble(chat=name) as double:
        double.rules.secret = "SECother"
        reply = _send(client, double)

        assert reply.verdict is Verdict.REFUSED
        assert double.secret not in reply.said


@pytest.mark.parametrize("name", KEYED)
def test_a_missing_keyword_is_refused_and_a_written_one_is_in_every_message(
    client: ChatClient, name: str, alert, robot, plan
) -> None:
    """Robots that require one refuse a text without it."""
    with RobotDouble(chat=name, keywords=("triton-alerts",)) as double:
        reply = _send(client, double)
        composer = Composer(plan=plan, templates={})
        (page,) = composer.write([alert()], {}, robot(chat=name, keyword="triton-alerts"), 19_000)

        assert reply.verdict is Verdict.REFUSED
        assert _send(client, double, page.message).verdict is Verdict.ACCEPTED


def test_too_many_messages_are_too_many(double: RobotDouble) -> None:
    """The double counts as the vendor does; its word is the module's "too fast"."""
    vendor, chat = VENDORS[double.chat], robot_chat(double.chat)
    query = {vendor.token_field: double.rules.token}
    double.rules.secret = ""
    step = max(60.1 / chat.per_minute(), chat.spacing_seconds)
    slow = [
        double.rules.judge(query, _message(chat.name).body(), 1000.0 + at * step)[0]
        for at in range(2 * chat.per_minute())
    ]
    at_once = [
        double.rules.judge(query, _message(chat.name).body(), 2000.0)[0] for _ in range(vendor.per_minute + 1)
    ]

    assert {one.errcode for one in slow} == {vendor.accepted.errcode}
    assert at_once[0] == vendor.accepted
    assert at_once[-1] == double.rules.refusal(Refusal.TOO_FAST)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("why", VERDICTS, ids=lambda why: why.name)
def test_every_word_of_the_vendor_has_its_meaning(name: str, why: Refusal) -> None:
    """As the tables of the doubles have them."""
    if why in VENDORS[name].refusals:
        assert _read(name, why).verdict is VERDICTS[why]


@pytest.mark.parametrize(
    ("written", "least", "most"),
    [("7", 7, 7), ("3600", 600, 600), (None, 0, 31), ("Sun, 06 Nov 1994 08:49:37 GMT", 0, 0)],
    ids=["seconds", "an hour", "in half a minute", "long ago"],
)
def test_a_chat_says_in_both_ways_how_long_it_wants_no_message(written, least, most) -> None:
    """Seconds, or a date of HTTP; ten minutes at most, in case a proxy errs."""
    soon = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=30), usegmt=True)
    said = soon if written is None else written
    pause = retry_after(Heard(status=429, headers={"retry-after": said}))
    assert pause is not None
    assert least <= pause <= most


@pytest.mark.parametrize("written", ["", "soon", "-5", "1e9999", "Sun, 99 Nov 1994 08:49:37 GMT"])
def test_what_says_no_time_is_not_a_time(written) -> None:
    """The chat's own mute holds then."""
    assert retry_after(Heard(status=429, headers={"retry-after": written})) is None


def test_a_link_of_slack_is_whole_or_left_out() -> None:
    """Each `&` is written with five characters, and a section is cut at 3,000."""
    slack = robot_chat("slack")
    assert slack.link("board", f"http://a/?{'&x' * 330}") == "board"
    assert slack.link("board", "http://a/?a&b") == "<http://a/?a&amp;b|board>"
