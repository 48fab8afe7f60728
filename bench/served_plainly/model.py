"""The whole inspection the plain way, as one model without metrics: decode, network and NMS in a row."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import triton_python_backend_utils as pb_utils
from network import Network
from plain import LABELS, plain_nms, plain_preprocess


class TritonPythonModel:
    """IMAGE (JPEG) in, RESULT (JSON) out."""

    def initialize(self, _args: dict[str, str]) -> None:
        """Load the network the pipeline has, with as many threads."""
        cv2.setNumThreads(1)
        self.network = Network(Path(__file__).with_name("model.onnx"), threads=1)

    def execute(self, requests: list) -> list:
        """Answer one image after the other."""
        return [self._inspect(request) for request in requests]

    def _inspect(self, request: object) -> object:
        (body,) = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy().ravel()
        tensor, *placed = plain_preprocess(body)
        found = plain_nms(self.network.infer([tensor])[0][0], *placed)
        result = json.dumps(
            [{"class": LABELS[kind], "score": score, "box": box} for kind, score, box in found]
        )
        answer = pb_utils.Tensor("RESULT", np.array([[result.encode()]], object))
        return pb_utils.InferenceResponse([answer])
