"""`stages --version` of an ensemble: Triton counts every ensemble under version 1."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Run

MODELS = {"whole": "1", "plain": "2"}
"""The version under which Triton counts each; `whole` is an ensemble of version 3."""


class _Prometheus(BaseHTTPRequestHandler):
    """Ten requests a second to each model, of a tenth of a second."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._answer(parts.path, parse_qs(parts.query))

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer(self.path, parse_qs(form))

    def _answer(self, path: str, asked: dict[str, list[str]]) -> None:
        body = json.dumps({"status": "success", "data": _data(path, asked)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


def _data(path: str, asked: dict[str, list[str]]) -> object:
    if path.endswith("/label/model/values"):
        return [*MODELS]
    if path.endswith("/label/version/values"):
        return [version for model, version in MODELS.items() if f'"{model}"' in asked["match[]"][0]]
    if path.endswith("/values"):
        return []
    query, rows = asked["query"][0], list[tuple[dict[str, str], float]]()
    if "nv_inference_request_success" in query or "nv_inference_request_duration_us" in query:
        value = 10.0 if "success" in query else 1e6
        rows = [({"model": model, "version": version}, value) for model, version in MODELS.items()]
    elif "tritonobs_model_info" in query and 'model="whole"' in query:
        rows = [({"model": "whole"}, 1.0)]
    result = [{"metric": labels, "value": [0, str(value)]} for labels, value in rows]
    return {"resultType": "vector", "result": result}


@pytest.fixture(name="url")
def _url() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Prometheus)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def test_an_ensembles_own_version_is_looked_up_under_version_1(run: Run, url: str) -> None:
    """Its requests are shown, and a line says why another version stands there."""
    done = run("stages", "--model", "whole", "--version", "3", "--prometheus", url, "--format", "json")

    (table,) = json.loads(done.stdout)
    assert (done.returncode, table["version"], table["request"]["rate"]) == (0, "1", 10.0)
    assert done.stderr.strip() == (
        "Triton reports every ensemble under version 1, not its own: these are all requests to whole"
    )


def test_a_version_that_a_plain_model_does_not_have_is_wrong_usage(run: Run, url: str) -> None:
    """Another version's numbers are not shown in its place."""
    done = run("stages", "--model", "plain", "--version", "3", "--prometheus", url)

    assert (done.returncode, done.stdout) == (2, "")
    assert 'no version "3" of plain was seen; there are 2' in done.stderr
