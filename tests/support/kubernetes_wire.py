"""The Kubernetes double's HTTP side: lists, watches, and refusals as `Status` objects."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from support.kubernetes_kinds import KINDS

if TYPE_CHECKING:
    from support.kubernetes import KubernetesDouble

_PATH = re.compile(
    r"/apis?/(?P<api>v1|[a-z0-9.-]+/v1(?:beta1)?)(?:/namespaces/(?P<namespace>[a-z0-9-]+))?"
    r"/(?P<plural>[a-z]+)(?:/(?P<name>[a-z0-9.-]+))?"
)
_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
}
_TOO_OLD = "The resourceVersion for the provided watch is too old."


def handler(double: KubernetesDouble) -> type[BaseHTTPRequestHandler]:
    """The request handler of one double."""
    return type("KubernetesHandler", (_Handler,), {"double": double})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: KubernetesDouble

    def do_POST(self) -> None:
        """A new object."""
        self._write(create=True)

    def do_PUT(self) -> None:
        """An object in the place of the one there is."""
        self._write(create=False)

    def _write(self, *, create: bool) -> None:
        parts = urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        path, refusal = self._asked(parts.path, {"path": parts.path, "method": self.command})
        if path is None:
            self._refuse(refusal, "refused")
            return
        status, value = self.double.write(path["plural"], path["namespace"], body, create=create)
        if status >= HTTPStatus.BAD_REQUEST:
            self._refuse(status, value["message"])
        else:
            self._reply(status, value)

    def _asked(self, path: str, request: dict[str, str]) -> tuple[re.Match[str] | None, int]:
        """What the path names, or the status of a refusal."""
        refusal = self.double.arrive(request)
        found = _PATH.fullmatch(path)
        if self.headers.get("Authorization") != f"Bearer {self.double.token}":
            return None, 401
        if refusal:
            return None, refusal
        if found is None or KINDS.get(found["plural"], ("",))[0] != found["api"]:
            return None, 404
        return found, 0

    def do_GET(self) -> None:
        """An object, a list, or a watch."""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        request = {"path": parts.path, "accept": self.headers.get("Accept", ""), **query}
        path, refusal = self._asked(parts.path, request)
        if path is None:
            said = {401: "Unauthorized", 404: "the server could not find the requested resource"}
            self._refuse(refusal, said.get(refusal, "refused as the test asked"))
            return
        plural, namespace = path["plural"], path["namespace"] or ""
        if path["name"]:
            value = self.double.find(plural, namespace, path["name"])
            self._reply(200, value) if value else self._refuse(404, f"{plural} {path['name']} not found")
        elif query.get("watch") in ("1", "true"):
            self._watch(plural, namespace, query)
        else:
            self._list(plural, namespace, query)

    def _list(self, plural: str, namespace: str, query: dict[str, str]) -> None:
        page = self.double.page(plural, namespace, int(query.get("limit", 0)), query.get("continue", ""))
        if page is None:
            self._refuse(
                410, "The provided continue parameter is too old to display a consistent list result."
            )
            return
        values, following, version = page
        metadata = {"resourceVersion": str(version), **({"continue": following} if following else {})}
        partial = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" in self.headers.get("Accept", "")
        head = (
            {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            if partial
            else {"kind": f"{KINDS[plural][1]}List", "apiVersion": KINDS[plural][0]}
        )
        chosen = [value for value in values if _selected(value, query.get("labelSelector", ""))]
        items = [_partial(value) if partial else value for value in chosen]
        self._reply(200, {**head, "metadata": metadata, "items": items})

    def _watch(self, plural: str, namespace: str, query: dict[str, str]) -> None:
        if not query.get("resourceVersion", "").isdigit():
            self._refuse(400, f"invalid resource version {query.get('resourceVersion', '')!r}")
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            self._follow(plural, namespace, query)

    def _follow(self, plural: str, namespace: str, query: dict[str, str]) -> None:
        """Tell events until the watch's time is over; forgotten ones end it with 410."""
        seen = int(query["resourceVersion"])
        bookmarks = query.get("allowWatchBookmarks") == "true"
        ends = time.monotonic() + float(query.get("timeoutSeconds", 1800))
        generation = self.double.generation
        bookmark_at = time.monotonic() + self.double.bookmark_seconds
        while (now := time.monotonic()) < ends:
            wait = (min(ends, bookmark_at) if bookmarks else ends) - now
            events, newest, broken = self.double.wait_for_events(seen, generation, wait)
            if broken:
                self._break()
                return
            if events is None:
                self._chunk({"type": "ERROR", "object": _status(410, _TOO_OLD)})
                break
            for event in events:
                seen = event.version
                own = event.value["kind"] == KINDS[plural][1]
                if own and namespace in ("", event.value["metadata"]["namespace"]):
                    value = (
                        event.value
                        if "as=Partial" not in self.headers.get("Accept", "")
                        else _partial(event.value)
                    )
                    self._chunk({"type": event.kind, "object": value})
            if bookmarks and time.monotonic() >= bookmark_at:
                bookmark_at = time.monotonic() + self.double.bookmark_seconds
                metadata = {"resourceVersion": str(newest), "creationTimestamp": None}
                self._chunk({"type": "BOOKMARK", "object": {"kind": KINDS[plural][1], "metadata": metadata}})
                seen = newest
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, value: dict[str, Any]) -> None:
        line = json.dumps(value).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _break(self) -> None:
        """Half a line, then a reset."""
        with suppress(OSError):
            self.wfile.write(b'40\r\n{"type": "MODIFIED", "obj')
            self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def _refuse(self, code: int, message: str) -> None:
        self._reply(code, _status(code, message))

    def _reply(self, code: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: tests print their own."""


def _selected(value: dict[str, Any], selector: str) -> bool:
    """Whether its labels are the wanted ones; `a=b,c=d` only."""
    labels = value["metadata"].get("labels") or {}
    wanted = [pair.partition("=") for pair in selector.split(",") if pair]
    return all(labels.get(label) == text for label, _, text in wanted)


def _partial(value: dict[str, Any]) -> dict[str, Any]:
    """The metadata alone, as the server cuts it."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"]}


def _status(code: int, message: str) -> dict[str, Any]:
    reason = _REASONS.get(code, HTTPStatus(code).phrase)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
