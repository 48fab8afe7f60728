"""Metrics pages of Triton servers that are not there, at the loopback addresses that kwok gives to pods."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    from typing_extensions import Self

    from support.control_plane import ControlPlane

MODEL_LABEL = "model"
_FAMILIES = {
    "nv_inference_request_success": 1,
    "nv_inference_count": 1,
    "nv_inference_exec_count": 1,
    "nv_inference_request_duration_us": 10_000,
    "nv_inference_queue_duration_us": 100,
    "nv_inference_compute_input_duration_us": 100,
    "nv_inference_compute_infer_duration_us": 9_000,
    "nv_inference_compute_output_duration_us": 100,
}
_BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    name: str
    model: str
    began: float
    before: float
    """What a server that was always there had handled then."""


class FakePods:
    """A context manager; while it is open, each pod that runs answers on `port`; its counters grow by `qps`.

    A pod answers from `starts_seconds` after it runs until it is asked to end; its label names its model.
    """

    def __init__(
        self,
        plane: ControlPlane,
        port: int,
        *,
        qps: float,
        namespace: str = "models",
        starts_seconds: float = 0,
    ) -> None:
        self._plane, self._namespace, self._port = plane, namespace, port
        self._starts = starts_seconds
        self._servers: dict[str, _Server] = {}
        self._qps, self._since, self._before = qps, time.monotonic(), 0.0
        self._loop = asyncio.new_event_loop()
        self._threads = [
            threading.Thread(target=one, daemon=True) for one in (self._loop.run_forever, self._follow)
        ]
        self._closing = False

    def __enter__(self) -> Self:
        # Every address of loopback, and none that others can reach.
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
        listener.bind(("0.0.0.0", self._port))  # noqa: S104 (on loopback's device alone)
        for thread in self._threads:
            thread.start()
        serving = asyncio.start_server(self._answer, sock=listener, backlog=_BACKLOG)
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        for thread in self._threads:
            thread.join()
        self._loop.close()

    @property
    def qps(self) -> float:
        """Requests a second that each server gets."""
        return self._qps

    @qps.setter
    def qps(self, value: float) -> None:
        now = time.monotonic()
        self._before += (now - self._since) * self._qps
        self._qps, self._since = value, now

    def _handled(self, at: float) -> float:
        """Requests until then of a server that was there from the begin."""
        return self._before + (at - self._since) * self._qps

    def _follow(self) -> None:
        """Which pods run, as watches of the API server tell it; each is short, so that this can end."""
        where = f"{self._plane.url}/api/v1/namespaces/{self._namespace}/pods"
        head = {"Authorization": f"Bearer {self._plane.token}"}
        version = ""
        with requests.Session() as session:
            session.headers.update(head)
            session.trust_env = False  # a bundle of certificates named there would go before ours
            session.verify = str(self._plane.ca)
            while not self._closing:
                if not version:
                    listed = session.get(where, timeout=30).json()
                    self._servers = {}
                    for pod in listed["items"]:
                        self._see("ADDED", pod)
                    version = listed["metadata"]["resourceVersion"]
                asked = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3"}
                with session.get(where, params=asked, stream=True, timeout=30) as told:
                    for line in told.iter_lines():
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            version = ""
                            break
                        version = event["object"]["metadata"]["resourceVersion"]
                        self._see(event["type"], event["object"])

    def _see(self, kind: str, pod: dict[str, Any]) -> None:
        about, status = pod["metadata"], pod.get("status", {})
        address = status.get("podIP", "")
        known = self._servers.get(address)
        if kind == "DELETED" or "deletionTimestamp" in about:
            if known and known.name == about["name"]:
                del self._servers[address]
        elif status.get("phase") == "Running" and (known is None or known.name != about["name"]):
            model = about.get("labels", {}).get(MODEL_LABEL, "")
            now = time.monotonic()
            self._servers[address] = _Server(
                name=about["name"], model=model, began=now, before=self._handled(now)
            )

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            await reader.readuntil(b"\r\n\r\n")
            server = self._servers.get(address)
            if server is None or time.monotonic() < server.began + self._starts:
                return
            body = self._page(address, server).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def _page(self, address: str, server: _Server) -> str:
        # No two servers have done the same: one under two names would be an alert.
        own = int(ipaddress.ip_address(address)) % 10_000
        handled = int(self._handled(time.monotonic()) - server.before)
        labels = f'{{model="{server.model}",version="1"}}'
        return "".join(f"{name}{labels} {handled * each + own}\n" for name, each in _FAMILIES.items())
