"""Shared memory between Triton and its Python models: who frees it, and what damages it."""

from __future__ import annotations

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from support.traced_models import add_noop
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.processes import wait_for
from tritonobs.extensions.lab.stack.services import make_backend_folder, shared_memory_prefix

pytestmark = pytest.mark.e2e
MODELS = Path(__file__).parents[3] / "models"
NOT_OURS = Path("/dev/shm/tritonobs-test-of-somebody-else")  # noqa: S108 (where Linux keeps it)


def regions(folder: Path) -> list[str]:
    """What servers with this backend folder have in shared memory."""
    return [name for name in os.listdir("/dev/shm") if name.startswith(shared_memory_prefix(folder))]  # noqa: PTH208, S108 (Triton's own place)


def test_what_a_killed_server_leaves_is_freed_when_it_is_stopped(tmp_path: Path) -> None:
    """Its worker's region, and nothing of others."""
    add_noop(tmp_path / "models", "noop")
    NOT_OURS.touch()
    try:
        with lone_triton(tmp_path / "models", tmp_path / "server") as server:
            os.kill(server.part.pid, signal.SIGKILL)
            wait_for(lambda: not server.part.process() or None, "the server to end", 30)
            assert regions(tmp_path / "server" / "backends") != []

        assert regions(tmp_path / "server" / "backends") == []
        assert NOT_OURS.exists()
    finally:
        NOT_OURS.unlink()


def test_what_a_killed_stack_left_is_freed_when_the_next_one_starts(tmp_path: Path) -> None:
    """Also where nobody stopped the one before."""
    left = Path(f"/dev/shm/{shared_memory_prefix(tmp_path / 'backends')}left")  # noqa: S108 (Triton's own place)
    left.touch()

    make_backend_folder(tmp_path / "backends")

    assert not left.exists()


NETWORK = """
import time

class Network:
    def __init__(self, path, **options):
        pass

    def infer(self, tensors):
        time.sleep(0.05)  # Meanwhile the next requests come, and are one batch.
        raise RuntimeError("out of memory")
"""
SHARING = """
        answers = self.own(requests)
        error = pb_utils.TritonError("inference_failed: out of memory") if answers[0].has_error() else None
        return [pb_utils.InferenceResponse(output_tensors=[], error=error) for _ in answers]
"""


def serve_broken_detector(models: Path, *, sharing: bool) -> None:
    """The detector of this repository with a network that fails; `sharing` gives a batch one error object."""
    shutil.copytree(MODELS / "detector", models / "detector")
    folder = models / "detector" / "1"
    (folder / "network.py").write_text(NETWORK, encoding="utf-8")
    config = models / "detector" / "config.pbtxt"
    # Small tensors: what fails is not their computation.
    config.write_text(config.read_text(encoding="utf-8").replace("640, 640", "4, 4"), encoding="utf-8")
    if sharing:
        model = (folder / "model.py").read_text(encoding="utf-8")
        begin = "    def execute(self, requests: list) -> list:\n"
        assert model.count(begin) == 1
        text = model.replace(begin, f"{begin}{SHARING.lstrip(chr(10))}\n{begin.replace('execute', 'own')}")
        (folder / "model.py").write_text(text, encoding="utf-8")


def answers_of_failing_batches(url: str) -> list[str]:
    """What clients read that ask side by side."""
    tensor = {"name": "TENSOR", "shape": [1, 3, 4, 4], "datatype": "FP32", "data": [0.0] * 48}

    def ask(_: int) -> str:
        try:
            answer = requests.post(f"{url}/v2/models/detector/infer", json={"inputs": [tensor]}, timeout=10)
        except requests.ConnectionError:
            return "the server has gone"
        return str(answer.json().get("error"))

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(80)))


def test_a_batch_that_fails_leaves_the_server_alive(tmp_path: Path) -> None:
    """Each request of it is told why."""
    serve_broken_detector(tmp_path / "models", sharing=False)
    with lone_triton(tmp_path / "models", tmp_path / "server") as server:
        assert set(answers_of_failing_batches(server.http_url)) == {"inference_failed: out of memory"}
        server.require_alive()


def test_an_error_in_two_responses_kills_the_server(tmp_path: Path) -> None:
    """The twin: what the models and docs avoid, on Triton itself. When this fails, the rule can go."""
    serve_broken_detector(tmp_path / "models", sharing=True)
    with lone_triton(tmp_path / "models", tmp_path / "server") as server:
        assert "the server has gone" in answers_of_failing_batches(server.http_url)
        assert "Signal (11) received." in server.log()
