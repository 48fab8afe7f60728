"""A batch that fails whole: each request gets an error of its own, because Triton dies of a shared one."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tritonobs.testing import FakePbUtils

MODEL = Path(__file__).parents[2] / "models" / "detector" / "1" / "model.py"


class _Broken:
    def __init__(self, _path, **_options):
        pass

    def infer(self, _tensors):
        raise RuntimeError("out of memory")


@pytest.fixture(name="fake")
def _fake(monkeypatch):
    fake = FakePbUtils()
    fake.get_input_tensor_by_name = lambda request, _name: SimpleNamespace(as_numpy=lambda: request)
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake)
    monkeypatch.setitem(sys.modules, "network", SimpleNamespace(Network=_Broken))
    return fake


def test_each_request_of_a_failed_batch_has_its_own_error(fake):
    """They say the same."""
    spec = importlib.util.spec_from_file_location("detector_model", MODEL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TritonPythonModel()
    config = '{"parameters": {"intra_op_threads": {"string_value": "1"}}}'
    args = {**FakePbUtils.ARGS, "model_config": config, "model_instance_kind": "CPU"}
    model.initialize({**args, "model_instance_device_id": "0"})

    answers = model.execute([np.zeros((1, 3, 4, 4), np.float32)] * 4)
    model.finalize()

    assert [one.error().message() for one in answers] == ["inference_failed: out of memory"] * 4
    assert fake.crashes == []


def test_the_fake_says_what_would_kill_triton():
    """The twin: one error in two responses."""
    fake = FakePbUtils()
    error = fake.TritonError("no", fake.TritonError.INVALID_ARG)

    first, second = (fake.InferenceResponse(error=error) for _ in range(2))

    assert (first.has_error(), second.error().code()) == (True, fake.TritonError.INVALID_ARG)
    assert fake.crashes == ["an error stands in two responses: no"]
