"""`discover` of a server whose endpoints are restricted: a header opens them, and stands in no output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWERS: dict[str, object] = {
    "/v2": {"name": "triton", "version": "2.51.0"},
    "/v2/repository/index": [{"name": "detector", "version": "9", "state": "READY"}],
    "/v2/models/detector/config": {"name": "detector", "backend": "python"},
    "/v2/models/stats": {"model_stats": []},
    "/metrics": 'nv_inference_request_success{model="detector",version="9"} 10\n',
}


class _Restricted(BaseHTTPRequestHandler):
    """A server that was started with `--http-restricted-api=…:admin-key=secret`, in its own words."""

    def do_GET(self) -> None:
        if self.path.startswith("/v2") and self.headers.get("admin-key") != "s3cret word":
            body = b'{"error":"This API is restricted, expecting header \'admin-key\'"}'
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        answer = ANSWERS.get(self.path, {})
        body = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


@pytest.fixture(name="restricted")
def _restricted_url() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Restricted)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def _command(url: str, *options: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tritonobs", "discover", url, "--metrics", f"{url}/metrics", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
    )


@pytest.mark.parametrize(
    ("options", "env"),
    [
        pytest.param(("--header", "admin-key: s3cret word"), {}, id="option"),
        pytest.param((), {"TRITONOBS_TRITON_HEADER": "admin-key: s3cret word"}, id="environment"),
        pytest.param(
            (), {"TRITONOBS_TRITON_HEADER": "other: x\nadmin-key: s3cret word"}, id="two lines of it"
        ),
        pytest.param(("--header", "other: x", "--header", "admin-key:s3cret word"), {}, id="two options"),
    ],
)
def test_a_header_opens_what_triton_restricts(
    restricted: str, options: tuple[str, ...], env: dict[str, str]
) -> None:
    """Sent with every request, its blanks kept; the draft does not hold it."""
    done = _command(restricted, *options, env=env)

    assert done.returncode == 0, done.stderr
    assert "  detector:" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        pytest.param((), 3, "restricted, expecting header 'admin-key'", id="none"),
        pytest.param(("--header", "admin-key: s3cret"), 3, "restricted, expecting header", id="a wrong one"),
        pytest.param(("--header", "admin-key s3cret"), 2, "a name, a colon and a value", id="no colon"),
        pytest.param(("--header", "a b: s3cret"), 2, "a name, a colon and a value", id="no name"),
        pytest.param(("--header", "a: s3cret\r\nb: c"), 2, "a name, a colon and a value", id="two in one"),
    ],
)
def test_without_the_right_header_triton_has_the_word(
    restricted: str, options: tuple[str, ...], status: int, said: str
) -> None:
    """What was sent is a secret: no error repeats it."""
    done = _command(restricted, *options)

    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert "s3cret" not in done.stderr
    assert "Traceback" not in done.stderr
