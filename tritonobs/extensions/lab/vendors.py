"""What vendors of chats accept and what they answer, as tables: a double is as strict as its vendor by them.

Nothing here is shared with `tritonobs.chats`, so that one checks the other. Sources: DingTalk's robot
documentation (signature, 20 messages a minute, then ten minutes of silence) and answers in public reports:
130101 (ccfos/nightingale#369), 460101 (timonwong/prometheus-webhook-dingtalk#30), 310000 with its words,
300001 for an unknown token. Feishu's documentation of custom bots, and 19001 for an unknown token. WeCom's
page 99110, and 93000, 45009 and 40058 from public reports. Slack's changelog of 2016-05-17 and its pages on
rate limits and Block Kit, `no_service` from public reports. Microsoft's pages on incoming webhooks,
connectors and adaptive cards; statuses of a Workflow's trigger from public reports.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]


class Refusal(enum.Enum):
    """Why a message is not accepted."""

    TOKEN = "an unknown or revoked robot"  # noqa: S105 (words)
    SIGNATURE = "a wrong signature"
    CLOCK = "a signature that is more than an hour off"
    TOO_FAST = "too many messages"
    TOO_LONG = "too long a message"
    SHAPE = "a message that is not of the documented form"
    KEYWORD = "no keyword"
    BUSY = "a busy vendor"
    UNKNOWN = "an undocumented answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The vendor's answer; `errcode` 0 or "ok" is acceptance."""

    errcode: int | str
    errmsg: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a group sees of a message."""

    title: str
    text: str
    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    at_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One vendor. `refusals` has its words; `read` gives None for a message of another form than documented.

    The token is in the field `token_field` of the query, or the end of the path. `counted` is what its limit
    of size is about. `signed` gives the time and the signature of a call, `sign` the right one, `second` how
    many of the time's units a second has.
    """

    path: str
    token_field: str = ""
    accepted: Judgement
    refusals: Mapping[Refusal, Judgement]
    per_minute: int
    per_second: int = 0
    mute_seconds: float = 0.0
    most_bytes: int
    counted: Callable[[bytes, Json], int] = lambda body, _: len(body)
    signed: Callable[[Mapping[str, str], Json], tuple[str, str]] | None = None
    sign: Callable[[str, str], str] = lambda *_: ""
    second: int = 1
    read: Callable[[Json], Shown | None]
    written: Callable[[Judgement], bytes]
    token: Callable[[str], str] = str
    """The token of a robot, made of random digits."""


def _said(code: str, text: str) -> Callable[[Judgement], bytes]:
    return lambda one: json.dumps({code: one.errcode, text: one.errmsg}, ensure_ascii=False).encode()


def _hmac(key: str, message: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), message.encode(), hashlib.sha256).digest()).decode()


def _text(value: object) -> str:
    """A text that is not empty.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, str) or not value:
        raise ValueError("not a text")
    return value


def strict(read: Callable[[Json], Shown]) -> Callable[[Json], Shown | None]:
    """The reader, with None for what is not as documented."""

    def judged(said: Json) -> Shown | None:
        try:
            return read(said)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return None

    return judged


# --- DingTalk ---

_MORE = ", more: [https://open.dingtalk.com/document/robots/custom-robot-access]"


def _dingtalk(said: Json) -> Shown:
    markdown, at = said["markdown"], said.get("at", {})
    if said["msgtype"] != "markdown":
        raise ValueError("not Markdown")
    return Shown(
        title=_text(markdown["title"]),
        text=_text(markdown["text"]),
        mobiles=tuple(map(str, at.get("atMobiles", ()))),
        user_ids=tuple(map(str, at.get("atUserIds", ()))),
        at_all=at.get("isAtAll") is True,
    )


DINGTALK: Final = Vendor(
    path="/robot/send",
    token_field="access_token",  # noqa: S106 (the name of a field)
    accepted=Judgement(errcode=0, errmsg="ok"),
    refusals={
        Refusal.TOKEN: Judgement(errcode=300001, errmsg="token is not exist"),
        Refusal.SIGNATURE: Judgement(errcode=310000, errmsg="sign not match" + _MORE),
        Refusal.CLOCK: Judgement(errcode=310000, errmsg="invalid timestamp" + _MORE),
        Refusal.KEYWORD: Judgement(errcode=310000, errmsg="keywords not in content" + _MORE),
        Refusal.TOO_FAST: Judgement(errcode=130101, errmsg="send too fast, exceed 20 times per minute"),
        Refusal.TOO_LONG: Judgement(errcode=460101, errmsg="message too long, exceed {} bytes"),
        Refusal.SHAPE: Judgement(errcode=40035, errmsg="缺少参数 markdown.title 或 markdown.text"),
        Refusal.BUSY: Judgement(errcode=-1, errmsg="系统繁忙"),
        Refusal.UNKNOWN: Judgement(errcode=987654, errmsg="something new"),
    },
    per_minute=20,
    mute_seconds=600.0,
    most_bytes=20_000,
    signed=lambda query, _: (query.get("timestamp", ""), query.get("sign", "")),
    sign=lambda secret, stamp: _hmac(secret, f"{stamp}\n{secret}"),
    second=1000,
    read=strict(_dingtalk),
    written=_said("errcode", "errmsg"),
)

# --- Feishu ---

_FEISHU_COLOURS = {"blue", "green", "grey", "orange", "red"}
_FEISHU_AT = re.compile(r"<at id=([\w.@-]+)></at>")


def _feishu(said: Json) -> Shown:
    card = said["card"]
    title = card["header"]["title"]
    if said["msg_type"] != "interactive" or card["header"]["template"] not in _FEISHU_COLOURS:
        raise ValueError("not a card")
    if title["tag"] != "plain_text" or not card["elements"]:
        raise ValueError("no title")
    texts = [_text(one["content"]) for one in card["elements"] if one["tag"] == "markdown"]
    for one in card["elements"]:
        if one["tag"] == "action":
            for button in one["actions"]:
                _feishu_button(button)
        elif one["tag"] != "markdown":
            raise ValueError("an unknown element")
    who = [name for text in texts for name in _FEISHU_AT.findall(text)]
    return Shown(
        title=_text(title["content"]),
        text="\n".join(texts),
        user_ids=tuple(name for name in who if name != "all"),
        at_all="all" in who,
    )


def _feishu_button(button: Json) -> None:
    _text(button["text"]["content"])
    if (button["tag"], button["text"]["tag"]) != ("button", "plain_text"):
        raise ValueError("not a button")
    if not re.match("https?://", button["url"]):
        raise ValueError("not an address")


_FEISHU_SIGN = "sign match fail or timestamp is not within one hour from current time"
FEISHU: Final = Vendor(
    path="/open-apis/bot/v2/hook/",
    accepted=Judgement(errcode=0, errmsg="success"),
    refusals={
        Refusal.TOKEN: Judgement(
            errcode=19001, errmsg="param invalid: incoming webhook access token invalid"
        ),
        Refusal.SIGNATURE: Judgement(errcode=19021, errmsg=_FEISHU_SIGN),
        Refusal.CLOCK: Judgement(errcode=19021, errmsg=_FEISHU_SIGN),
        Refusal.KEYWORD: Judgement(errcode=19024, errmsg="Key Words Not Found"),
        Refusal.TOO_FAST: Judgement(errcode=11232, errmsg="frequency limited psm[lark.oapi.app_platform]"),
        Refusal.TOO_LONG: Judgement(errcode=9499, errmsg="Bad Request"),
        Refusal.SHAPE: Judgement(errcode=9499, errmsg="Bad Request"),
        Refusal.BUSY: Judgement(errcode=19000, errmsg="internal error"),
        Refusal.UNKNOWN: Judgement(errcode=987654, errmsg="something new"),
    },
    per_minute=100,
    per_second=5,
    most_bytes=20_000,
    signed=lambda _, said: (str(said.get("timestamp", "")), str(said.get("sign", ""))),
    sign=lambda secret, stamp: _hmac(f"{stamp}\n{secret}", ""),
    read=strict(_feishu),
    written=lambda one: json.dumps({"code": one.errcode, "msg": one.errmsg, "data": {}}).encode(),
)

# --- WeCom ---


def _wecom(said: Json) -> Shown:
    kind = said["msgtype"]
    if kind not in {"markdown", "markdown_v2"}:
        raise ValueError("not Markdown")
    text = _text(said[kind]["content"])
    who = re.findall(r"<@([\w.@-]+)>", text)
    if who and kind == "markdown_v2":
        raise ValueError("shown as text there: no one is notified")
    # A telephone shows the beginning of the text.
    return Shown(title=text.partition("\n")[0].lstrip("# "), text=text, user_ids=tuple(who))


def _wecom_size(_: bytes, said: Json) -> int:
    part = said.get(str(said.get("msgtype")), {})
    return len(str(part.get("content", "")).encode()) if isinstance(part, dict) else 0


WECOM: Final = Vendor(
    path="/cgi-bin/webhook/send",
    token_field="key",  # noqa: S106 (the name of a field)
    accepted=Judgement(errcode=0, errmsg="ok"),
    refusals={
        Refusal.TOKEN: Judgement(errcode=93000, errmsg="invalid webhook url, hint: [1], from ip: 192.0.2.1"),
        Refusal.TOO_FAST: Judgement(errcode=45009, errmsg="api freq out of limit, hint: [1]"),
        Refusal.TOO_LONG: Judgement(errcode=40058, errmsg="markdown.content exceed max length {}"),
        Refusal.SHAPE: Judgement(errcode=40008, errmsg="invalid message type"),
        Refusal.BUSY: Judgement(errcode=-1, errmsg="system error"),
        Refusal.UNKNOWN: Judgement(errcode=987654, errmsg="something new"),
    },
    per_minute=20,
    most_bytes=4_096,
    counted=_wecom_size,
    read=strict(_wecom),
    written=_said("errcode", "errmsg"),
)

# --- Slack ---

_SLACK_SECTION, _SLACK_HEADER, _SLACK_BLOCKS, _SLACK_BUTTON = 3_000, 150, 50, 75


def _slack(said: Json) -> Shown:
    blocks, texts, title = said["blocks"], [], ""
    _text(said["text"])
    if not 0 < len(blocks) <= _SLACK_BLOCKS:
        raise ValueError("too many blocks")
    for block in blocks:
        if block["type"] == "header":
            title = _within(block["text"], "plain_text", _SLACK_HEADER)
        elif block["type"] == "section":
            texts.append(_within(block["text"], "mrkdwn", _SLACK_SECTION))
        elif block["type"] == "actions":
            for button in block["elements"]:
                _within(button["text"], "plain_text", _SLACK_BUTTON)
                if button["type"] != "button" or not re.match("https?://", button["url"]):
                    raise ValueError("not a button")
        else:
            raise ValueError("an unknown block")
    text = "\n".join(texts)
    return Shown(
        title=title,
        text=text,
        user_ids=tuple(re.findall(r"<(?:@|!subteam\^)([\w.@-]+)>", text)),
        at_all="<!channel>" in text,
    )


def _within(part: Json, kind: str, most: int) -> str:
    text = _text(part["text"])
    if part["type"] != kind or len(text) > most:
        raise ValueError("another kind of text, or too long")
    return text


SLACK: Final = Vendor(
    path="/services/",
    accepted=Judgement(errcode="ok", errmsg=""),
    refusals={
        Refusal.TOKEN: Judgement(errcode="no_service", errmsg="", status=404),
        Refusal.TOO_FAST: Judgement(
            errcode="rate_limited", errmsg="", status=429, headers={"Retry-After": "10"}
        ),
        Refusal.TOO_LONG: Judgement(errcode="msg_blocks_too_long", errmsg="", status=400),
        Refusal.SHAPE: Judgement(errcode="invalid_blocks", errmsg="", status=400),
        Refusal.BUSY: Judgement(errcode="rollup_error", errmsg="", status=500),
        Refusal.UNKNOWN: Judgement(errcode="something_new", errmsg="", status=400),
    },
    per_minute=60,
    # A short burst is tolerated; how long is not documented.
    per_second=2,
    most_bytes=13_200,
    read=strict(_slack),
    written=lambda one: str(one.errcode).encode(),
    token=lambda digits: f"T0{digits[:8].upper()}/B0{digits[8:16].upper()}/{digits[:24]}",
)

# --- Teams ---

_TEAMS_COLOURS = {"Default", "Attention", "Warning", "Accent", "Good"}


def _teams(said: Json) -> Shown:
    (attachment,) = said["attachments"]
    card = attachment["content"]
    kind = (said["type"], attachment["contentType"], card["type"])
    if kind != ("message", "application/vnd.microsoft.card.adaptive", "AdaptiveCard") or not card["body"]:
        raise ValueError("not a card")
    if card["version"] not in {f"1.{minor}" for minor in range(6)}:
        raise ValueError("a version that Teams does not have")
    for block in card["body"]:
        if block["type"] != "TextBlock" or block.get("color", "Default") not in _TEAMS_COLOURS:
            raise ValueError("an unknown block")
    for action in card.get("actions", ()):
        _text(action["title"])
        if action["type"] != "Action.OpenUrl" or not re.match("https?://", action["url"]):
            raise ValueError("not a button")
    text = "\n\n".join(_text(block["text"]) for block in card["body"])
    entities = {one["text"]: one["mentioned"]["id"] for one in card.get("msteams", {}).get("entities", ())}
    who = re.findall("<at>.*?</at>", text)
    if set(who) != set(entities):
        raise ValueError("a mention without its entity, or the other way round")
    return Shown(title=said["summary"], text=text, user_ids=tuple(entities[one] for one in who))


def _teams_body(one: Judgement) -> bytes:
    if one.status == _TEAMS_ACCEPTED:
        return b""
    return json.dumps({"error": {"code": one.errcode, "message": one.errmsg}}).encode()


_TEAMS_ACCEPTED = 202
TEAMS: Final = Vendor(
    path="/workflows/1f0e/triggers/manual/paths/invoke",
    token_field="sig",  # noqa: S106 (the name of a field)
    accepted=Judgement(errcode=202, errmsg="", status=_TEAMS_ACCEPTED),
    refusals={
        Refusal.TOKEN: Judgement(errcode="WorkflowNotFound", errmsg="The workflow is not found.", status=404),
        Refusal.TOO_FAST: Judgement(errcode="TooManyRequests", errmsg="", status=429),
        Refusal.TOO_LONG: Judgement(
            errcode="RequestEntityTooLarge", errmsg="Request Entity too large", status=413
        ),
        Refusal.SHAPE: Judgement(errcode="TriggerInputSchemaMismatch", errmsg="not as expected", status=400),
        Refusal.BUSY: Judgement(errcode="ServerTimeout", errmsg="try again", status=503),
        Refusal.UNKNOWN: Judgement(errcode="SomethingNew", errmsg="", status=418),
    },
    per_minute=240,
    per_second=4,
    most_bytes=28_000,
    read=strict(_teams),
    written=_teams_body,
)

VENDORS: Final[Mapping[str, Vendor]] = {
    "dingtalk": DINGTALK,
    "feishu": FEISHU,
    "slack": SLACK,
    "teams": TEAMS,
    "wecom": WECOM,
}
"""By the name of the chat."""
