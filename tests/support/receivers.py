"""Slack, WeCom and a plain webhook on loopback, as strict as their vendors as far as Alertmanager notices.

Sources: the vendors' documentation (Slack: incoming webhooks answer with a status and a word, a text has at
most 40,000 characters, an attachment's colour is a word or `#rrggbb`; WeCom: `gettoken` before
`message/send`, HTTP 200 with an `errcode` in every case, a text has at most 2,048 bytes, what is longer
is cut there).
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from support.serving import Serving

SLACK_MOST_CHARACTERS: Final = 40_000
WECOM_MOST_BYTES: Final = 2_048
_OK, _BAD, _NOT_FOUND, _UNAVAILABLE = 200, 400, 404, 503
_MOST_ATTACHMENTS = 100

Answer = tuple[int, str]


class ReceiverDoubles(Serving):
    """A context manager; while it is open, `slack_url`, `wecom_url` and `webhook_url` are those of services.

    What each accepted stands in `slack`, `wecom` and `webhook`; what was refused, as (path, answer), in
    `refused`. `unavailable` is how many of the next calls are answered 503.
    """

    corp_id, agent_id = "wwcorp", "1000002"

    def __init__(self) -> None:
        self.corp_secret = secrets.token_urlsafe(32)
        self.slack: list[dict[str, Any]] = []
        self.wecom: list[dict[str, Any]] = []
        self.webhook: list[tuple[str, dict[str, Any]]] = []
        self.refused: list[tuple[str, Answer]] = []
        self.unavailable = 0
        self._slack_path = f"/services/T0/B0/{secrets.token_urlsafe(18)}"
        self._tokens: set[str] = set()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"doubles": self}))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def slack_url(self) -> str:
        """An incoming webhook; its path is its secret."""
        return self.url + self._slack_path

    @property
    def wecom_url(self) -> str:
        """What Alertmanager calls `api_url`."""
        return f"{self.url}/cgi-bin/"

    def webhook_url(self, name: str) -> str:
        """A service that takes everything that Alertmanager posts."""
        return f"{self.url}/hooks/{name}"

    def answer(self, target: str, body: bytes) -> Answer:
        """Judge one call."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        with self._lock:
            if self.unavailable:
                self.unavailable -= 1
                return self._refusal(parts.path, (_UNAVAILABLE, "try again"))
            if parts.path == "/cgi-bin/gettoken":
                return self._token(query)
            if parts.path == "/cgi-bin/message/send":
                return self._send(query, _object(body))
            return self._take(parts.path, _object(body))

    def _take(self, path: str, said: dict[str, Any] | None) -> Answer:
        if said is None:
            return self._refusal(path, (_BAD, "invalid_payload"))
        if path.startswith("/hooks/"):
            return self._hook(path, said)
        if path != self._slack_path:
            return self._refusal(path, (_NOT_FOUND, "no_service"))
        return self._post(said)

    def _post(self, said: dict[str, Any]) -> Answer:
        wrong = _slack_refuses(said)
        if wrong:
            return self._refusal("slack", (_BAD, wrong))
        self.slack.append(said)
        return _OK, "ok"

    def _hook(self, path: str, said: dict[str, Any]) -> Answer:
        if said.get("version") != "4" or not said.get("alerts"):
            return self._refusal(path, (_BAD, "no call of Alertmanager's"))
        self.webhook.append((path, said))
        return _OK, "ok"

    def _token(self, query: dict[str, str]) -> Answer:
        if query.get("corpid") != self.corp_id:
            return self._errcode(40013, "invalid corpid")
        if query.get("corpsecret") != self.corp_secret:
            return self._errcode(40001, "invalid credential")
        token = secrets.token_urlsafe(24)
        self._tokens.add(token)
        return _OK, json.dumps({"errcode": 0, "errmsg": "ok", "access_token": token, "expires_in": 7200})

    def _send(self, query: dict[str, str], said: dict[str, Any] | None) -> Answer:
        if query.get("access_token") not in self._tokens:
            return self._errcode(42001, "access_token expired")
        if said is None or said.get("msgtype") != "text" or not isinstance(said.get("text"), dict):
            return self._errcode(40008, "invalid message type")
        if str(said.get("agentid")) != self.agent_id:
            return self._errcode(40056, "invalid agentid")
        if not (said.get("touser") or said.get("toparty") or said.get("totag")):
            return self._errcode(40031, "invalid userid list")
        content = str(said["text"].get("content", "")).encode()
        if not content:
            return self._errcode(44004, "empty content")
        shown = content[:WECOM_MOST_BYTES].decode(errors="ignore")
        self.wecom.append({**said, "shown": shown, "cut": len(content) > WECOM_MOST_BYTES})
        return _OK, json.dumps({"errcode": 0, "errmsg": "ok"})

    def _errcode(self, errcode: int, errmsg: str) -> Answer:
        return self._refusal("wecom", (_OK, json.dumps({"errcode": errcode, "errmsg": errmsg})))

    def _refusal(self, where: str, answer: Answer) -> Answer:
        self.refused.append((where, answer))
        return answer


def _slack_refuses(said: dict[str, Any]) -> str:
    """Slack's word for what is wrong with a message; "" when nothing is."""
    attachments = said.get("attachments") or []
    if not attachments and not said.get("text"):
        return "no_text"
    if len(attachments) > _MOST_ATTACHMENTS:
        return "too_many_attachments"
    if len(json.dumps(said, ensure_ascii=False)) > SLACK_MOST_CHARACTERS:
        return "msg_too_long"
    colours = [attachment.get("color", "good") for attachment in attachments]
    if not all(re.fullmatch("good|warning|danger|#[0-9a-fA-F]{6}", str(colour)) for colour in colours):
        return "invalid_attachments"
    return ""


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(body)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


class _Handler(BaseHTTPRequestHandler):
    doubles: ReceiverDoubles

    def do_GET(self) -> None:
        """WeCom's `gettoken`."""
        self._say(self.doubles.answer(self.path, b""))

    def do_POST(self) -> None:
        """A message."""
        length = int(self.headers.get("Content-Length", 0))
        self._say(self.doubles.answer(self.path, self.rfile.read(length)))

    def _say(self, answer: Answer) -> None:
        status, text = answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing: paths and queries are secrets here."""
