"""A Prometheus that answers what is no number, or labels that are no texts: a sentence, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

LABELS = {"model": "inspect", "version": "1", "stage": "infer", "replica": "r", "le": "0.1"}
COMMANDS = {"stages": ["stages"], "triage": ["triage"], "top": ["top", "--once"]}
LIMITS = ["limits", "suggest", "--model", "inspect"]


@pytest.fixture(name="prometheus")
def _prometheus():
    """Its address, and what it says: the value of every series, and its labels."""
    said = {"value": "NaN", "labels": LABELS}

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            data: object = []
            if "query_range" in self.path:
                found = {"metric": said["labels"], "values": [[1, said["value"]], [2, said["value"]]]}
                data = {"resultType": "matrix", "result": [found]}
            elif "/query" in self.path:
                found = {"metric": said["labels"], "value": [1, said["value"]]}
                data = {"resultType": "vector", "result": [found]}
            elif "alerts" in self.path:
                data = {"alerts": []}
            elif "targets" in self.path:
                data = {"activeTargets": []}
            elif "rules" in self.path:
                data = {"groups": []}
            body = json.dumps({"status": "success", "data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def log_message(self, *_said):
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", said
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e308", "5e-324"])
@pytest.mark.parametrize("command", [*COMMANDS.values(), LIMITS], ids=[*COMMANDS, "suggest"])
def test_values_that_nobody_can_reckon_with(prometheus, command, value):
    """0 / 0 is NaN in PromQL, and sums may be infinite."""
    address, said = prometheus
    said["value"] = value
    done = _asked(command, address)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in {0, 1, 2, 3}


@pytest.mark.parametrize("labels", [None, {"model": 5}, {"model": None}], ids=repr)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_labels_that_are_not_texts(prometheus, command, labels):
    """That is not a Prometheus."""
    address, said = prometheus
    said["labels"] = labels
    done = _asked(command, address)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 3


def _asked(command, address):
    words = [sys.executable, "-m", "tritonobs", *command, "--prometheus", address]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
