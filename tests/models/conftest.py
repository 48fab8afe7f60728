"""The models' plain modules, without Triton: importable the way Triton makes them importable."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tritonobs.stage import SCRAPE_INTERVAL_VARIABLE, Stages
from tritonobs.testing import FakePbUtils

MODELS = Path(__file__).parents[2] / "models"
LLM = Path(__file__).parents[2] / "examples" / "language" / "models" / "llm"
sys.path[:0] = [str(MODELS / model / "1") for model in ("preprocess", "detector", "nms", "inspect")]
sys.path.append(str(LLM / "1"))


@pytest.fixture(name="chain", scope="session")
def _chain():
    """Image bytes to boxes in the original image, through the three models' own functions."""
    from boxes import Settings, keep_confident, suppress, to_original  # noqa: PLC0415 (the path is set above)
    from decode import decode  # noqa: PLC0415 (the model's folder is on the path from here on)
    from letterbox import letterbox, normalise  # noqa: PLC0415 (the model's folder is on the path from here on)
    from network import Network  # noqa: PLC0415 (the model's folder is on the path from here on)
    from settings import Settings as Decoding  # noqa: PLC0415 (the model's folder is on the path from here on)

    network = Network(MODELS / "detector" / "1" / "model.onnx", threads=1)

    def prepare(body):
        pixels, geometry = letterbox(decode(body, Decoding()))
        tensor = np.empty((1, 3, 640, 640), np.float32)
        normalise(pixels, tensor[0])
        return tensor, geometry

    def find(body, confidence=0.25):
        settings = Settings(
            labels=("part", "defect"),
            confidence=confidence,
            iou=0.45,
            max_candidates=1000,
            max_detections=300,
        )
        tensor, geometry = prepare(body)
        rows = network.infer([tensor])[0][0]
        return to_original(suppress(keep_confident(rows, settings), settings), geometry)

    return SimpleNamespace(prepare=prepare, find=find, infer=lambda tensor: network.infer([tensor])[0])


@pytest.fixture(name="repository", scope="session")
def _repository():
    """The model repository of this project."""
    return MODELS


@pytest.fixture(name="stages")
def _stages(monkeypatch):
    """Stage metrics as a model has them; `counted` ends them and sums up what Triton was told."""
    monkeypatch.setenv(SCRAPE_INTERVAL_VARIABLE, "0")
    triton = FakePbUtils()
    # Series go when their worker ends; what the last scrape before that sees is what counts here.
    triton.free = lambda *_: None
    stages = Stages(FakePbUtils.ARGS, triton)

    def counted(name, **labels):
        stages.finalize()
        return triton.total(name, **labels)

    stages.counted = counted
    yield stages
    stages.finalize()
