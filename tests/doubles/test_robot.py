"""The robot double is as strict as the vendor, and fails as told."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
import requests

from tritonobs.extensions.lab.robot import Fault, RobotDouble, RobotRules

NOW = 1_700_000_000.0
SECRET, TOKEN = "SECx", "t"


def _body(text: str = "hello", title: str = "title", **more: object) -> bytes:
    said = {"msgtype": "markdown", "markdown": {"title": title, "text": text}, **more}
    return json.dumps(said, ensure_ascii=False).encode()


def _query(*, secret: str = SECRET, stamp: float = NOW, token: str = TOKEN) -> dict[str, str]:
    text = str(int(stamp * 1000))
    sign = hmac.new(secret.encode(), f"{text}\n{secret}".encode(), hashlib.sha256).digest()
    return {"access_token": token, "timestamp": text, "sign": base64.b64encode(sign).decode()}


def _rules(**more: object) -> RobotRules:
    return RobotRules(token=TOKEN, secret=SECRET, **more)


def test_signed_message_is_accepted() -> None:
    """A right signature within the hour is errcode 0, and the group sees the message."""
    judgement, message = _rules().judge(_query(), _body(at={"atMobiles": ["138"], "isAtAll": True}), NOW)
    assert judgement.errcode == 0
    assert message is not None
    assert (message.title, message.text, message.mobiles, message.at_all) == (
        "title",
        "hello",
        ("138",),
        True,
    )


@pytest.mark.parametrize(
    ("query", "errcode", "errmsg"),
    [
        pytest.param(_query(token="other"), 300001, "token is not exist", id="unknown token"),
        pytest.param(_query(secret="SECy"), 310000, "sign not match", id="wrong secret"),
        pytest.param(_query(stamp=NOW - 3601), 310000, "invalid timestamp", id="an hour and a second old"),
        pytest.param(_query(stamp=NOW + 3601), 310000, "invalid timestamp", id="an hour and a second ahead"),
        pytest.param({"access_token": "t"}, 310000, "invalid timestamp", id="not signed at all"),
    ],
)
def test_stranger_is_refused(query: dict[str, str], errcode: int, errmsg: str) -> None:
    """Token, signature and timestamp must all be right."""
    judgement, message = _rules().judge(query, _body(), NOW)
    assert (judgement.errcode, message) == (errcode, None)
    assert judgement.errmsg.startswith(errmsg)


def test_20000_bytes_are_the_most() -> None:
    """A body of 20,000 bytes passes, one byte more does not; Chinese counts as bytes, not as characters."""
    room = 20_000 - len(_body(text=""))
    fits = "中" * (room // 3) + "x" * (room % 3)
    assert len(_body(text=fits)) == 20_000
    assert _rules().judge(_query(), _body(text=fits), NOW)[0].errcode == 0
    assert _rules().judge(_query(), _body(text=fits + "x"), NOW)[0].errcode == 460101


def test_21st_message_of_a_minute_mutes_for_ten_minutes() -> None:
    """20 messages pass; the 21st within 60 s is refused, and so is everything for 600 s."""
    rules = _rules()
    for second in range(20):
        assert rules.judge(_query(), _body(), NOW + second)[0].errcode == 0
    assert rules.judge(_query(), _body(), NOW + 59)[0].errcode == 130101
    assert rules.judge(_query(), _body(), NOW + 658.9)[0].errcode == 130101
    assert rules.judge(_query(), _body(), NOW + 659.1)[0].errcode == 0
    assert rules.mutes == 1


def test_window_slides() -> None:
    """A message counts for 60 s, not until the next full minute."""
    rules = _rules()
    for second in range(20):
        rules.judge(_query(), _body(), NOW + second * 3.0)
    assert rules.judge(_query(), _body(), NOW + 60.1)[0].errcode == 0
    assert rules.judge(_query(), _body(), NOW + 60.2)[0].errcode == 130101


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="no JSON"),
        pytest.param(_body(text=""), id="no text"),
        pytest.param(_body(title=""), id="no title"),
        pytest.param(json.dumps({"msgtype": "text", "text": {"content": "x"}}).encode(), id="not markdown"),
        pytest.param(b'{"msgtype": "markdown", "markdown": []}', id="markdown is no object"),
    ],
)
def test_incomplete_message_is_refused(body: bytes) -> None:
    """A markdown message needs its title and its text."""
    judgement, message = _rules().judge(_query(), body, NOW)
    assert (judgement.errcode, message) == (40035, None)


def test_keyword_must_stand_in_the_message() -> None:
    """A robot guarded by keywords takes what has one of them, in title or text."""
    rules = RobotRules(token="t", keywords=("triton", "告警"))
    query = {"access_token": "t"}
    assert rules.judge(query, _body(), NOW)[0].errcode == 310000
    assert rules.judge(query, _body(text="告警: x"), NOW)[0].errcode == 0
    assert rules.judge(query, _body(title="triton"), NOW)[0].errcode == 0


def test_double_answers_200_whatever_it_says() -> None:
    """As the vendor does: the verdict is in the body, not in the status."""
    with RobotDouble() as robot:
        answer = requests.post(f"{robot.base_url}/robot/send?access_token=wrong", data=_body(), timeout=30)
        assert (answer.status_code, answer.json()["errcode"]) == (200, 300001)
        assert requests.post(f"{robot.base_url}/other", timeout=30).status_code == 404
        assert [attempt.outcome for attempt in robot.attempts] == [300001, 404]


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.LOST_ANSWER], ids=lambda fault: fault.name)
def test_broken_connection_tells_nothing(fault: Fault) -> None:
    """The caller cannot know whether the message arrived; only with a lost answer did it."""
    with RobotDouble(secret="") as robot:
        robot.fail(fault)
        with pytest.raises(requests.ConnectionError):
            requests.post(robot.webhook_url, data=_body(), timeout=30)
        assert len(robot.messages) == (fault is Fault.LOST_ANSWER)


def test_double_shows_what_it_saw() -> None:
    """`GET /messages` lists accepted messages, `GET /attempts` every call."""
    with RobotDouble(secret="") as robot:
        robot.fail(Fault.BUSY)
        for _ in range(2):
            requests.post(robot.webhook_url, data=_body(), timeout=30)
        seen = [requests.get(robot.base_url + path, timeout=30).json() for path in ("/messages", "/attempts")]
        assert [message["text"] for message in seen[0]] == ["hello"]
        assert [attempt["outcome"] for attempt in seen[1]] == [-1, 0]
