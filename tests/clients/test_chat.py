"""The client of chats signs, sends once, and says in our words what came back."""

from __future__ import annotations

import json
import re
import time
import traceback

import pytest

from support.dingtalk import markdown, reply
from tritonobs.chats.chat import Message, People, Reply, Verdict
from tritonobs.chats.dingtalk import CHAT
from tritonobs.clients.chat import ChatClient
from tritonobs.clients.secrets import Secret
from tritonobs.errors import BadAnswer, ClientError, ConnectionBroken, SecretUnusable, TimedOut, Unreachable
from tritonobs.extensions.lab.robot import Fault, RobotDouble

MESSAGE = markdown(
    title="t", text="告警 @138", people=People(mobiles=("138",), user_ids=("lee",), everyone=True)
)


HASTY_SECONDS, PATIENT_SECONDS = 0.3, 10.0


@pytest.fixture
def client():
    """A client that waits as long as a busy machine needs."""
    client = ChatClient(timeout_seconds=PATIENT_SECONDS)
    yield client
    client.close()


@pytest.fixture
def hasty():
    """A client that soon gives up."""
    client = ChatClient(timeout_seconds=HASTY_SECONDS)
    yield client
    client.close()


@pytest.fixture
def robot():
    """A signed robot."""
    with RobotDouble(timeout_seconds=1.0) as robot:
        yield robot


def _send(client: ChatClient, robot: RobotDouble, message: Message = MESSAGE) -> Reply:
    return client.send(CHAT, Secret(robot.webhook_url), Secret(robot.secret), message)


def test_signed_message_arrives_whole(client: ChatClient, robot: RobotDouble) -> None:
    """The strict robot accepts the signature; text and people arrive as they were."""
    assert _send(client, robot) == reply(errcode=0, errmsg="ok")
    (seen,) = robot.messages
    assert (seen.title, seen.text) == ("t", "告警 @138")
    assert (seen.mobiles, seen.user_ids, seen.at_all) == (("138",), ("lee",), True)


def test_unsigned_robot_gets_no_signature(client: ChatClient) -> None:
    """A robot without a signing secret is sent to with its token alone."""
    with RobotDouble(secret="", keywords=("告警",)) as robot:
        assert client.send(CHAT, Secret(robot.webhook_url), None, MESSAGE).verdict is Verdict.ACCEPTED


def test_body_counts_as_the_vendor_counts() -> None:
    """Chinese is sent as UTF-8, three bytes a character, not as six-byte escapes."""
    assert len(markdown(title="t", text="中").body()) == len(markdown(title="t", text="xyz").body())
    assert json.loads(markdown(title="t", text='"\n\ud800').body())["markdown"]["text"] == '"\n?'


@pytest.mark.parametrize(
    ("errcode", "verdict"),
    [
        (0, Verdict.ACCEPTED),
        (130101, Verdict.TOO_FAST),
        (460101, Verdict.TOO_LONG),
        (-1, Verdict.BUSY),
        (310000, Verdict.REFUSED),
        (300001, Verdict.REFUSED),
        (987654, Verdict.UNKNOWN),
    ],
)
def test_errcode_has_a_meaning(errcode: int, verdict: Verdict) -> None:
    """Every errcode is a verdict; one nobody knows is `unknown`, never acceptance."""
    assert reply(errcode=errcode, errmsg="").verdict is verdict


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        pytest.param(Fault.LOST_ANSWER, ConnectionBroken, "connection broken", id="lost answer"),
        pytest.param(Fault.STATUS_500, BadAnswer, "answered 500", id="500"),
        pytest.param(Fault.GARBAGE, BadAnswer, "not DingTalk's", id="no JSON"),
        pytest.param(Fault.RESET, ConnectionBroken, "connection broken", id="reset"),
    ],
)
def test_broken_answer_is_our_error(
    client: ChatClient, robot: RobotDouble, fault: Fault, error: type[ClientError], words: str
) -> None:
    """No exception of requests escapes, and nothing is sent a second time."""
    robot.fail(fault)
    with pytest.raises(error, match=words):
        _send(client, robot)
    assert len(robot.attempts) == 1


def test_an_answer_that_is_late_is_our_error(hasty: ChatClient, robot: RobotDouble) -> None:
    """Nothing is sent a second time either; the robot may have shown the message."""
    robot.fail(Fault.TIMEOUT)
    with pytest.raises(TimedOut, match=f"no answer within {HASTY_SECONDS} s"):
        _send(hasty, robot)
    assert len(robot.attempts) == 1


def test_errors_tell_no_secret(hasty: ChatClient, robot: RobotDouble) -> None:
    """Neither the token nor the signing secret is in an error, its traceback, or a `repr`."""
    secrets = (robot.rules.token, robot.secret)
    for fault in (Fault.RESET, Fault.STATUS_500, Fault.GARBAGE, Fault.TIMEOUT):
        robot.fail(fault)
        with pytest.raises(ClientError) as caught:
            _send(hasty, robot)
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert not any(secret in told for secret in secrets)
    assert robot.secret not in f"{Secret(robot.secret)!r} {Secret(robot.secret)}"


@pytest.mark.parametrize(
    "webhook",
    [
        pytest.param("https://oapi.dingtalk.com/robot/other", id="no token"),
        pytest.param("https://[oapi/robot/send?access_token=x", id="no host"),
        pytest.param("http://oapi.dingtalk.com/robot/send?access_token=x", id="token in the clear"),
        pytest.param("SECabc", id="the signing secret by mistake"),
        pytest.param("", id="nothing"),
    ],
)
def test_wrong_webhook_is_refused_unseen(client: ChatClient, webhook: str) -> None:
    """What is no webhook is never sent to, and the error does not quote it."""
    with pytest.raises(SecretUnusable, match="not DingTalk's") as caught:
        client.send(CHAT, Secret(webhook), None, MESSAGE)
    assert not webhook or webhook not in str(caught.value)


def test_base_url_stands_in_for_the_vendor(robot: RobotDouble) -> None:
    """With a base URL the vendor's webhook is sent to another host, token and path kept."""
    client = ChatClient(base_urls={"dingtalk": robot.base_url})
    webhook = f"https://oapi.dingtalk.com/robot/send?access_token={robot.rules.token}"
    assert client.send(CHAT, Secret(webhook), Secret(robot.secret), MESSAGE).code == "0"
    client.close()


@pytest.mark.parametrize(
    ("off_seconds", "hint"),
    [
        (7200, r" \(this machine's clock is \d+ s ahead of DingTalk's\)$"),
        (-7200, r" \(this machine's clock is \d+ s behind DingTalk's\)$"),
        (30, r"access\]$"),
    ],
)
def test_refused_signature_says_when_the_clock_is_off(
    robot: RobotDouble, off_seconds: int, hint: str
) -> None:
    """By the Date of the answer: the signature holds the time, so nobody would look for it there."""
    client = ChatClient(timeout_seconds=2.0, clock=lambda: time.time() + off_seconds)
    secret = Secret("SECwrong") if off_seconds == 30 else Secret(robot.secret)
    answer = client.send(CHAT, Secret(robot.webhook_url), secret, MESSAGE)
    assert answer.code == "310000"
    assert re.search(hint, answer.said)
    client.close()


def test_body_is_passed_on(wire) -> None:
    """A 2xx is success."""
    wire.says("/T000/B000/very-secret", "ok")
    ChatClient().pass_on(Secret(f"{wire.url}/T000/B000/very-secret"), b"{}")
    assert [(method, path) for method, path, _ in wire.asked] == [("POST", "/T000/B000/very-secret")]


def test_refusal_is_an_error(wire) -> None:
    """Anything but 2xx is told, with the host alone."""
    wire.says("/very-secret", "go away", status=403)
    with pytest.raises(BadAnswer, match="answered 403") as caught:
        ChatClient().pass_on(Secret(f"{wire.url}/very-secret"), b"{}")
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "error"),
    [
        pytest.param("http://127.0.0.1:1/very-secret?key=very-secret", Unreachable, id="nobody listens"),
        pytest.param("http://[::1/very-secret", ClientError, id="malformed host"),
        pytest.param("ftp://x/very-secret", SecretUnusable, id="no web address"),
        pytest.param("very-secret", SecretUnusable, id="no address"),
    ],
)
def test_errors_tell_no_address(address: str, error: type[Exception]) -> None:
    """The path of a webhook is its secret."""
    with pytest.raises((error, SecretUnusable)) as caught:
        ChatClient().pass_on(Secret(address), b"{}")
    assert "very-secret" not in str(caught.value)
