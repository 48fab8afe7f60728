"""Incidents in serve as a test sees them: a fleet file, a triage that says what is wanted, digests, pages."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette

from tritonobs.clients.prometheus import FiringAlert, PrometheusClient
from tritonobs.delivery.payload import Alert
from tritonobs.extensions.incidents import part as module
from tritonobs.extensions.incidents.groups import NEAR_SECONDS
from tritonobs.extensions.incidents.pages import routes
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import read_text
from tritonobs.timings.cause import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableMapping
    from pathlib import Path

    from tritonobs.delivery.composer import Said
    from tritonobs.delivery.payload import Sifted
    from tritonobs.extensions.incidents.part import Incidents
    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Robot
    from tritonobs.timings.promql import Span

FLEET = """\
fleet: shop
cluster: shop
replicas: [{{name: triton-1, url: "http://127.0.0.1:1"}}]
addresses: {{prometheus: "http://127.0.0.1:2", alertmanager: "http://127.0.0.1:3", serve: "http://serve.shop:9900"}}
models:
  inspect: {{pipeline: bls, calls: {{detector: 1}}}}
  detector: {{}}
  other: {{}}
incidents: {{{incidents}}}
notify:
  timezone: Asia/Shanghai
  dingtalk:
    oncall: {{webhook_file: w}}
    china: {{webhook_file: w, language: zh}}
"""
BEGAN = 1_780_000_000.0
STEP = "find out who sends so much"


class Judged:
    """A verdict that says what a test wants; `saved` are the files it was asked to write.

    `alerts` are what Prometheus says of them. It takes so many seconds, or until it is `released`.
    """

    def __init__(self, *causes: Cause, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.verdict = type("Verdict", (), {"causes": causes, "following": ()})()
        self.asked = 0
        self.saved: list[str] = []
        self.spans: list[Span] = []
        self.alerts: tuple[FiringAlert, ...] = ()
        self.seconds, self._error = seconds, error
        self.released = threading.Event()

    def __call__(
        self, *_servers: object, incident: Span, called: Mapping[str, str], reach_seconds: float
    ) -> Judged:
        """A look, as triage answers it."""
        assert incident.end > incident.start
        assert reach_seconds == NEAR_SECONDS
        assert called["127.0.0.1:1"] == "triton-1"
        self.asked += 1
        self.spans.append(incident)
        self.released.wait(self.seconds)
        if self._error:
            raise self._error
        return self

    def save(self, path: Path) -> None:
        """As a snapshot does."""
        path.write_text("{}")
        self.saved.append(path.name)


@contextmanager
def serving(judged: Judged | None, folder: Path, incidents: str = "") -> Iterator[Plan]:
    """The plan of the fleet file, shortly after the alerts began, with short rounds."""
    real, shift = time.time, BEGAN + 60 - time.time()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "answer", lambda question: judged if question == "verdict" else None)
        patched.setattr(module, "_ROUND_SECONDS", 0.05)
        # Nobody is at its address.
        patched.setattr(PrometheusClient, "alerts", lambda _: judged.alerts if judged else ())
        patched.setattr(time, "time", lambda: real() + shift)
        yield build_plan(read_text(FLEET.format(incidents=incidents), "fleet.yaml").spec, folder)


def cause(model: str = "inspect", sentence: str = "", since: float = BEGAN) -> Cause:
    """An explanation of that model's trouble."""
    return Cause(
        check="qps_limit",
        place=(model, ""),
        sentence=sentence or f"{model} gets 12 requests/s, the limit is 8",
        confidence=0.9,
        next_steps=(STEP, "raise the limit"),
        since=since,
    )


def alert(
    name: str = "TritonQpsAboveLimit",
    model: str = "inspect",
    *,
    status: str = "firing",
    severity: str = "critical",
    began: float = BEGAN,
) -> Alert:
    """As Alertmanager tells it."""
    labels = {"alertname": name, "severity": severity, "model": model, "cluster": "shop"}
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began))
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + 150))
    return Alert.model_validate({"status": status, "labels": labels, "startsAt": at, "endsAt": ended})


async def get(one: Incidents, path: str) -> tuple[int, str]:
    """Status and text of a page."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [], "root_path": "", "scheme": "http", "server": ("a", 1), "http_version": "1.1",
    }  # fmt: skip
    await Starlette(routes=routes(one))(scope, receive, send)
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent).decode()


def texts(lines: Iterable[Said]) -> list[str]:
    """What was said, without links."""
    return [line.text for line in lines]


async def say(
    one: Incidents, robots: Mapping[str, Robot], *alerts: Alert
) -> tuple[list[str], list[str], Sifted]:
    """A digest as delivery makes it: what is left of these is written and accepted."""
    sifted = await one.sift("oncall", alerts)
    due = [each for each in alerts if each.state not in sifted.known and each.state not in sifted.later]
    lines = await one.above(due, robots["oncall"]) if due else ()
    one.named("oncall", [each.state for each in due])
    return [each.labels["alertname"] for each in due], texts(lines), sifted
