"""The faults outside of blocks, on the real stack: as in the scenes of the same name, where Triton can.

python -m planted.live STATE KEPT [NAME …] (in bench/; STATE is the folder of a stack for rehearsals that
runs, KEPT a folder). Triton 24.10 tells no load times: what is loaded in place in a scene is unloaded and
loaded here. `plain` is a model without stages, which takes the place of embed, rank and classify.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from planted.plot import outside, outside_next
from planted.real import BATCHING, edited, keep, neighbour, settle
from tritonobs import names
from tritonobs.extensions.lab.drill.rig import Rig, steady
from tritonobs.extensions.lab.stack.processes import Folders, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from planted.fault import Truth

_SAMPLE = "1/sample.py"
_BLOCK = "        with self.stages.request(len(requests)) as counted:"
_SLEEP = "        import time; time.sleep({seconds})\n"
_RAISE = """        import random
        if random.random() < {share}:
            raise RuntimeError("new path")
"""
_PLAIN, _PLAIN_QPS, _PLAIN_SECONDS = "plain", 18.0, 0.040
_BROKEN = (steady(2.0, mix="1280x720=7,empty=1"),)
_LARGE = (steady(2.0, mix="png:4000x3000=2,1280x720=3"),)
_CODE = '''"""A model without stages."""

import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            time.sleep({seconds} * np.random.lognormal(-0.02, 0.2))
            if np.random.random() < {fails}:
                raise RuntimeError("new path")
            out = pb_utils.Tensor("OUT", pb_utils.get_input_tensor_by_name(request, "IN").as_numpy())
            answers.append(pb_utils.InferenceResponse(output_tensors=[out]))
        return answers
'''
_CONFIG = """backend: "python"
max_batch_size: 0
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU count: 2 } ]
"""


class Plain:
    """The model without stages, and who asks it: so many requests a second, at even distances."""

    def __init__(self, rig: Rig) -> None:
        self._rig, self._qps, self._ends = rig, _PLAIN_QPS, threading.Event()
        self._folder = rig.folders.models / _PLAIN
        (self._folder / "1").mkdir(parents=True, exist_ok=True)
        self.write()
        self.configure(2)
        rig.triton.load(_PLAIN)
        threading.Thread(target=self._ask, daemon=True).start()

    def write(self, seconds: float = _PLAIN_SECONDS, fails: float = 0.0) -> None:
        """What it does from its next load on."""
        (self._folder / "1" / "model.py").write_text(_CODE.format(seconds=seconds, fails=fails))

    def configure(self, instances: int) -> None:
        """How many instances it has from its next load on."""
        text = _CONFIG.replace("count: 2", f"count: {instances}")
        (self._folder / "config.pbtxt").write_text(text)

    def load(self, *, anew: bool = True) -> None:
        """Loaded, after an unload or in place."""
        if anew:
            self._rig.triton.unload(_PLAIN)
            # A load while requests of before are under way takes their counters over (24.10).
            wait_for(lambda: not self._counts() or None, "plain to be gone", 30.0)
        self._rig.triton.load(_PLAIN)

    def _counts(self) -> bool:
        page = requests.get(self._rig.replica.metrics_url, timeout=5).text
        return f'{names.TRITON_SUCCESS}{{model="{_PLAIN}"' in page

    def ask(self, qps: float) -> None:
        """Another rate."""
        self._qps = qps

    def _ask(self) -> None:
        url = f"{self._rig.replica.http_url}/v2/models/{_PLAIN}/infer"
        body = {"inputs": [{"name": "IN", "datatype": "FP32", "shape": [1], "data": [1.0]}]}
        due = time.monotonic()

        def one() -> None:
            with suppress(requests.RequestException):
                requests.post(url, json=body, timeout=8)

        while not self._ends.is_set():
            due = max(due + 1 / self._qps, time.monotonic() - 1)
            time.sleep(max(0.0, due - time.monotonic()))
            threading.Thread(target=one, daemon=True).start()


PLAIN: list[Plain] = []
"""The one of the stack, while it runs."""


@contextmanager
def _plain(*, seconds: float = _PLAIN_SECONDS, fails: float = 0.0, qps: float = _PLAIN_QPS) -> Iterator[None]:
    plain = PLAIN[0]
    plain.write(seconds, fails)
    plain.load()
    plain.ask(qps)
    try:
        yield
    finally:
        plain.ask(_PLAIN_QPS)
        plain.write()
        plain.load()


@contextmanager
def _one_instance() -> Iterator[None]:
    plain = PLAIN[0]
    plain.configure(1)
    plain.load(anew=False)
    try:
        yield
    finally:
        plain.configure(2)
        plain.load(anew=False)


@contextmanager
def _waits_outside(rig: Rig) -> Iterator[None]:
    _switch(rig).touch()
    try:
        yield
    finally:
        _switch(rig).unlink()


def _switch(rig: Rig) -> Path:
    """While this file is there, nms waits before its block, without a release."""
    return rig.folders.faults_file.with_name("waits-outside")


@contextmanager
def _reloaded(rig: Rig, model: str) -> Iterator[None]:
    rig.load(model)
    yield


@contextmanager
def _sent(rig: Rig, streams: tuple[object, ...]) -> Iterator[None]:
    rig.traffic.switch(streams)  # type: ignore[arg-type] # streams of several kinds
    yield


@contextmanager
def _all(*causes: AbstractContextManager[None]) -> Iterator[None]:
    with ExitStack() as stack:
        for cause in causes:
            stack.enter_context(cause)
        yield


def _before(rig: Rig, model: str, code: str) -> AbstractContextManager[None]:
    return edited(rig, model, _BLOCK, code + _BLOCK, _SAMPLE)


def _nms_sleeps(rig: Rig) -> AbstractContextManager[None]:
    return _before(rig, "nms", _SLEEP.format(seconds=0.012))


def _detector_works_on(rig: Rig) -> AbstractContextManager[None]:
    new = "    def execute(self, requests):\n        answers = self._inside(requests)\n        import time\n"
    new += (
        "        time.sleep(0.020)\n        return answers\n\n    def _inside(self, requests: list) -> list:"
    )
    return edited(rig, "detector", "    def execute(self, requests: list) -> list:", new, _SAMPLE)


def _inspect_raises(rig: Rig) -> AbstractContextManager[None]:
    new = "    async def execute(self, requests):\n        answers = await self._inside(requests)\n"
    new += _RAISE.format(share=0.10) + "        return answers\n\n"
    new += "    async def _inside(self, requests: list) -> list:"
    return edited(rig, "inspect", "    async def execute(self, requests: list) -> list:", new, _SAMPLE)


def _batcher(rig: Rig) -> AbstractContextManager[None]:
    waits = "dynamic_batching { max_queue_delay_microseconds: 120000 preferred_batch_size: [ 8 ] }"
    return rig.reconfigured("detector", lambda text: text.replace(BATCHING, waits))


_CAUSES: dict[str, Callable[[Rig], AbstractContextManager[None]]] = {
    "nms-sleeps-before-its-block": _nms_sleeps,
    "preprocess-raises-before-its-block": lambda rig: _before(rig, "preprocess", _RAISE.format(share=0.15)),
    "detector-works-on-after-its-block": _detector_works_on,
    "inspect-raises-after-its-block": _inspect_raises,
    "rank-loaded-anew-slower": lambda _: _plain(seconds=1.8 * _PLAIN_SECONDS, qps=_PLAIN_QPS),
    "embed-in-place-fails": lambda _: _plain(fails=0.12),
    "classify-in-place-slower": lambda _: _plain(seconds=2.6 * _PLAIN_SECONDS, qps=_PLAIN_QPS),
    "nms-waits-outside-without-a-release": _waits_outside,
    "rank-has-one-instance-less": lambda _: _one_instance(),
    "detector-has-a-batcher-that-waits": _batcher,
    "clients-send-large-images": lambda rig: _sent(rig, _LARGE),
    "a-client-sends-broken-images": lambda rig: _sent(rig, _BROKEN),
    "a-rush-beside-a-reload": lambda _: _plain(qps=2.6 * _PLAIN_QPS),
    "broken-images-beside-a-reload": lambda rig: _all(_reloaded(rig, "preprocess"), _sent(rig, _BROKEN)),
    "neighbour-and-one-stage-stands-out": neighbour,
    "neighbour-beside-a-reload": lambda rig: _all(_reloaded(rig, "nms"), neighbour(rig)),
    "the-way-to-the-detector-is-slow": lambda rig: rig.faults({"inspect": {"detector": {"seconds": 0.018}}}),
    "a-release-beside-broken-images": lambda rig: _all(_nms_sleeps(rig), _sent(rig, _BROKEN)),
    "a-good-release-beside-a-bad-one": lambda rig: _all(_reloaded(rig, "preprocess"), _nms_sleeps(rig)),
}
_WITHOUT_STAGES = {"rank", "embed", "classify", "search"}
SENT = frozenset(
    {"clients-send-large-images", "a-client-sends-broken-images", "broken-images-beside-a-reload"}
)
"""What begins with the first request of another kind."""


def _truth(name: str) -> Truth:
    truth = next(scene.truth for scene in (*outside.SCENES, *outside_next.SCENES) if scene.name == name)
    assert truth
    # The broken ones are empty here.
    places = tuple(place[:2] if "corrupt_image" in place else place for place in truth.places)
    truth = replace(truth, places=places)
    if not any(place[0] in _WITHOUT_STAGES for place in truth.places):
        return truth
    advice = truth.advice.replace("rank", _PLAIN)
    return replace(truth, places=((_PLAIN, "1"),), advice=advice)


LIVE = {name: (cause, _truth(name)) for name, cause in _CAUSES.items()}
"""By name: what is done to the stack, and what triage must say."""


def main() -> None:
    """Each fault once, the stack calm before each; what Prometheus scraped is kept to be judged again."""
    state, kept = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    kept.mkdir(parents=True, exist_ok=True)
    rig = Rig(Folders(root=state), str(state))
    _switch(rig).unlink(missing_ok=True)
    there = f"os.path.exists({str(_switch(rig))!r})"
    waits = f"        import os, time; time.sleep(0.015 if {there} else 0)\n"
    with _before(rig, "nms", waits):
        PLAIN.append(Plain(rig))
        settle(rig)
        try:
            for name in sys.argv[3:] or list(LIVE):
                keep(rig, name, LIVE[name][0], kept)
        finally:
            rig.traffic.stop()


if __name__ == "__main__":
    threading.excepthook = lambda args: print("thread:", args.exc_value, file=sys.stderr)
    main()
