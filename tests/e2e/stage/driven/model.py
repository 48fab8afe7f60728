"""A model that does to its stages what the request says, to see the server survive it."""

import multiprocessing
import sys
import threading
import time
from pathlib import Path

import triton_python_backend_utils as pb_utils

from tritonobs.stage import Stages

SURVIVED = 1000


def _request(stages, n):
    with stages.request(n), stages.time("decode"):
        pass


def _fork(stages, n):
    children = [
        multiprocessing.get_context("fork").Process(target=_request, args=(stages, n)) for _ in range(3)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    stages.outcome("ok", n)


def _work(stages, n):
    with stages.batch("total", n):
        for _ in range(n):
            with stages.time("decode"):
                pass
            stages.items("decode", "images")
            stages.size("decode", "bytes", 20_000)
    stages.outcome("ok", n)


def _threads(stages, n):
    def record():
        for _ in range(SURVIVED):
            stages.observe("threads", 0.003)

    threads = [threading.Thread(target=record) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stages.outcome("ok", n)


def _values(stages, n):
    for value in (float("nan"), float("inf"), float("-inf"), -1.0, 1e300, None, "soon", [], object()):
        stages.observe("values", value)
        stages.size("values", "bytes", value)
        stages.items("values", "images", value)
    stages.outcome("ok", n)


def _labels(stages, n):
    for label in (7, None, "", "x" * 200, "\ud800", "a\0b", b"bytes", ["list"], {"a": 1}):
        stages.observe(label, 0.001)
        stages.error("labels", label)
        stages.items(label, label)
    for label in ('quo"te', "new\nline", "brace}", "back\\slash", "汉字", "le", "{}", " "):
        stages.observe(label, 0.001)
    for minted in range(SURVIVED):
        stages.error("labels", f"request {minted}")
    stages.outcome("ok", n)


COMMANDS = {
    "work": _work,
    "request": _request,
    "fork": _fork,
    "threads": _threads,
    "values": _values,
    "labels": _labels,
}


class TritonPythonModel:
    """One instance; its behaviour comes from the request and from the name of the model."""

    @staticmethod
    def auto_complete_config(config):
        """A model that gets it wrong: stages where metrics hang for ever."""
        Stages({"model_name": "early", "model_version": "1"}, pb_utils).outcome("ok")
        return config

    def initialize(self, args):
        """Make the stages."""
        assert "c_python_backend_utils" in sys.modules, "how tritonobs.stage knows Triton's own processes"
        self.forgets = args["model_name"] == "forgetful"
        self.args = args
        self.stages = Stages(args, pb_utils)
        failing = Path(__file__).with_name("failing")
        if failing.exists() and args["model_instance_name"].endswith(failing.read_text(encoding="utf-8")):
            time.sleep(0.5)
            raise RuntimeError("no weights")

    def execute(self, requests):
        """Do what each request says, answer with what it said."""
        said = [pb_utils.get_input_tensor_by_name(request, "IN") for request in requests]
        for command in {tensor.as_numpy().ravel()[0].decode() for tensor in said}:
            # A second one, as a model has whose base class makes its own.
            stages = Stages(self.args, pb_utils) if command == "again" else self.stages
            COMMANDS["work" if command == "again" else command](stages, len(requests))
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor.as_numpy())]) for tensor in said]

    def finalize(self):
        """Finish the stages, unless the model is `forgetful`."""
        if not self.forgets:
            self.stages.finalize()
