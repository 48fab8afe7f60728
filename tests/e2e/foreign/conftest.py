"""A real tritonserver with models as other people write them, and clients that keep what they were told."""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs import names
from tritonobs.clients.exposition import read_page
from tritonobs.extensions.lab.stack.native import LoneTriton, lone_triton
from tritonobs.extensions.lab.stack.processes import wait_for
from tritonobs.extensions.lab.stack.services import cache_flags
from tritonobs.timings.top import Pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MODELS = Path(__file__).parent / "models"
SIDE_BY_SIDE = 4
_FLUSHES_SECONDS, _STILL_LOOKS = 1.2, 3
"""Two flushes and more, at the scrape interval below; and after how many of them nothing is to come."""
IN_AND_OUT = """
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""
PYTHON = f'backend: "python"\n{IN_AND_OUT}'
INSTANCES = f"instance_group [ {{ kind: KIND_CPU count: {SIDE_BY_SIDE} }} ]\n"
DECOUPLED = "model_transaction_policy { decoupled: true }\n"
CONFIGS = {
    "leaf": PYTHON + INSTANCES,
    "gather": PYTHON + INSTANCES,
    "stream": PYTHON + DECOUPLED,
    "engine": PYTHON + DECOUPLED,
    "cached": PYTHON + "response_cache { enable: true }\n",
    "mortal": PYTHON,
}
CODE = {"cached": "leaf", "mortal": "leaf"}
STREAMS = frozenset({"stream", "engine"})
ENSEMBLES = {"inner": ("leaf",), "outer": ("inner", "leaf")}
"""Each step gets what the one before answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What clients were told: the seconds of those that went well, and how many went wrong."""

    seconds: tuple[float, ...]
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server, its page, and requests to it."""

    triton: LoneTriton

    def page(self) -> Pages:
        """The metrics page now."""
        url = self.triton.metrics_url
        return Pages(at=time.time(), pages={url: read_page(url)})

    def settled(self) -> Pages:
        """The page once models have handed over everything: nothing but hearts has moved for some flushes.

        On a busy machine a worker may stand still for a second in the middle of a flush.
        """
        last, looks = self.page(), 0

        def unmoved() -> Pages | None:
            nonlocal last, looks
            time.sleep(_FLUSHES_SECONDS)
            now = self.page()
            looks = looks + 1 if _counts(now) == _counts(last) else 0
            last = now
            return now if looks == _STILL_LOOKS else None

        return wait_for(unmoved, "counts that no longer move", 30.0)

    def ask(self, model: str, numbers: Iterable[float], *, stream: bool = False) -> Told:
        """One request for each number, some side by side."""
        ask = self._stream if stream else self._infer
        with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as pool:
            found = list(pool.map(lambda number: ask(model, number), numbers))
        return Told(
            seconds=tuple(took for took in found if took is not None),
            failed=sum(took is None for took in found),
        )

    def _infer(self, model: str, number: float) -> float | None:
        tensor = {"name": "IN", "shape": [1], "datatype": "FP32", "data": [number]}
        answer = self._post(f"/v2/models/{model}/infer", {"inputs": [tensor]})
        return None if answer is None else float(json.loads(answer)["outputs"][0]["data"][0])

    def _stream(self, model: str, number: float) -> float | None:
        """The last of several answers."""
        answer = self._post(f"/v2/models/{model}/generate_stream", {"IN": number})
        lines = [line for line in (answer or "").splitlines() if line.startswith("data:")]
        return float(json.loads(lines[-1].removeprefix("data:"))["OUT"]) if lines else None

    def _post(self, path: str, body: dict[str, object]) -> str | None:
        request = urllib.request.Request(f"{self.triton.http_url}{path}", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError:
            return None


@pytest.fixture(name="server", scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repository = tmp_path_factory.mktemp("foreign")
    for name, config in CONFIGS.items():
        (repository / name / "1").mkdir(parents=True)
        shutil.copy(MODELS / f"{CODE.get(name, name)}.py", repository / name / "1" / "model.py")
        (repository / name / "config.pbtxt").write_text(config, encoding="utf-8")
    for name, steps in ENSEMBLES.items():
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "config.pbtxt").write_text(_ensemble(steps), encoding="utf-8")
    variables = {"TRITONOBS_SCRAPE_INTERVAL_SECONDS": "1"}
    root = tmp_path_factory.mktemp("triton")
    with lone_triton(repository, root, extra=cache_flags(1 << 20), variables=variables) as triton:
        server = Server(triton=triton)
        # What is seen for the first time tells nobody how much it grew.
        for model in (*CONFIGS, *ENSEMBLES):
            server.ask(model, [0.0004] * 2 * SIDE_BY_SIDE, stream=model in STREAMS)
        yield server
        triton.require_alive()


def _counts(pages: Pages) -> list[tuple[str, float]]:
    (page,) = pages.pages.values()
    return [
        (f"{sample.name}{sample.labels}", sample.value)
        for sample in page.samples
        if sample.name.startswith(
            (names.REQUESTS, names.STAGE_DURATION, names.TRITON_SUCCESS, names.VLLM_REQUEST)
        )
    ]


def _ensemble(steps: tuple[str, ...]) -> str:
    tensors = ["IN", *(f"BETWEEN_{number}" for number in range(1, len(steps))), "OUT"]
    written = ",\n".join(
        f'{{ model_name: "{model}" model_version: -1 input_map {{ key: "IN" value: "{tensors[at]}" }} '
        f'output_map {{ key: "OUT" value: "{tensors[at + 1]}" }} }}'
        for at, model in enumerate(steps)
    )
    return f'platform: "ensemble"\n{IN_AND_OUT}ensemble_scheduling {{ step [\n{written}\n] }}\n'
