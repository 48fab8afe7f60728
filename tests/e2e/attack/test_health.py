"""Health answers while serve works hard, and ends when it is told to, whatever hangs."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from support.evil import Evil, EvilServer
from support.serve_rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e


def test_health_answers_while_three_thousand_alerts_are_written(tmp_path: Path) -> None:
    """Each look comes back well before a probe would give up."""
    with Rig(folder=tmp_path) as rig:
        many = threading.Thread(target=rig.post, args=tuple(rig.alert(f"m{n}") for n in range(3000)))
        many.start()
        looks = []
        while many.is_alive() and len(looks) < 2000:
            looks.append(rig.get("/healthz", 5.0))
            time.sleep(0.01)
        many.join()
        assert set(looks) == {"ok\n"}


@pytest.mark.parametrize("what", ["a pipe", "a dripping robot", "a dripping API server"])
def test_serve_ends_when_told_to(tmp_path: Path, what: str) -> None:
    """SIGTERM within its usual time, while something hangs."""
    with Rig(folder=tmp_path) as rig, EvilServer(Evil.DRIPS_BODY) as evil:
        if what == "a pipe":
            rig.path.unlink()
            os.mkfifo(rig.path)
            assert rig.wait(lambda: rig.shows(r"^tritonobs_config_valid 0\.0$"))
        elif what == "a dripping robot":
            rig.secret("webhook", f"{evil.url}/robot/send?access_token=t")
            threading.Thread(target=rig.post, args=(rig.alert("m"),), daemon=True).start()
            assert rig.wait(lambda: evil.asked)
        else:
            rig.fleet["kubernetes"]["api"] = evil.url
            rig.write()
            assert rig.wait(lambda: evil.asked)
        assert rig.serve.stop() == 0


@pytest.mark.parametrize(
    ("sent", "answer", "reason"),
    [
        pytest.param("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"", "header_time", id="a header"),
        pytest.param(
            "POST /alertmanager/dingtalk/oncall HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/json\r\nContent-Length: 999\r\n\r\n{",
            b"HTTP/1.1 503",
            "body_time",
            id="a body",
        ),
    ],
)
def test_what_does_not_end_is_not_waited_for(tmp_path: Path, sent: str, answer: bytes, reason: str) -> None:
    """Closed within its time, and counted."""
    with Rig(folder=tmp_path) as rig:
        parts = urlsplit(rig.serve.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as one:
            began = time.monotonic()
            one.sendall(sent.encode())
            said = one.makefile("rb").read()
            assert said.startswith(answer)
            assert bool(said) == bool(answer)
            # 15 s and a machine that is busy; uvicorn keeps an idle connection for 5 s more.
            assert time.monotonic() - began < 19
        assert rig.shows(rf'^tritonobs_connections_dropped_total{{reason="{reason}"}} 1\.0$')


def test_the_log_stays_small(tmp_path: Path) -> None:
    """Two thousand bad requests are some lines."""
    with Rig(folder=tmp_path) as rig:
        parts = urlsplit(rig.serve.url)
        before = rig.serve.log.stat().st_size
        for _ in range(2000):
            with socket.create_connection((parts.hostname, parts.port), timeout=60) as one:
                one.sendall(b"\x16\x03\x01\r\n\r\n")
        assert rig.serve.log.stat().st_size - before < 50_000
