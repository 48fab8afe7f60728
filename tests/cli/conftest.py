"""The command line, run as a user runs it."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.serving import serving
from tritonobs import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Run = Callable[..., "Done"]


RECORDED = Path(__file__).parent / "transcripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended, and what it said where."""

    returncode: int
    stdout: str
    stderr: str


FLEET = """\
fleet: inspection
replicas:
  - {name: triton-1, url: "http://127.0.0.1:8000"}
defaults:
  slos:
    availability: {objective: 99.9%}
    latency: {objective: 99%, threshold: 500ms}
models:
  inspect:
    pipeline: bls
    calls: {preprocess: 1, detector: 1}
    qps_limit: 8
  preprocess: {}
  detector: {versions: {"1": {qps_limit: 40}}}
notify:
  dingtalk:
    oncall: {webhook_env: DINGTALK_WEBHOOK}
"""


@pytest.fixture
def fleet_file(tmp_path: Path) -> Path:
    """A small fleet, alone in its folder."""
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`tritonobs` with these arguments, in the folder of the fleet file; `env` is all of its environment.

    In this process, because a start of Python costs more than most of these commands.
    """
    monkeypatch.chdir(tmp_path)

    def start(*arguments: str, env: dict[str, str] | None = None) -> Done:
        with monkeypatch.context() as during:
            during.setattr(sys, "argv", ["tritonobs", *arguments])
            for name in os.environ if env is not None else ():
                during.delenv(name)
            for name, value in (env or {}).items():
                during.setenv(name, value)
            stdout, stderr = io.StringIO(), io.StringIO()
            with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as ended:
                cli.run()
        return Done(returncode=int(ended.value.code or 0), stdout=stdout.getvalue(), stderr=stderr.getvalue())

    return start


@pytest.fixture(name="page")
def _page() -> Iterator[str]:
    """A metrics page played back: every other look sees the fleet five seconds later."""
    pages = [(RECORDED / f"page-{number}.prom").read_bytes() for number in (1, 2)]
    looks = count()

    class Played(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages[next(looks) % 2]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
            """Nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Played)) as server:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
