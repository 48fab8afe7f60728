"""A Triton model that takes as long as its input says, in seconds."""

from __future__ import annotations

import time
from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found] # Triton's own, only there


class TritonPythonModel:
    """Sleeps, and gives the time back."""

    def execute(self, requests: list[Any]) -> list[Any]:
        """One request after the other."""
        responses = []
        for request in requests:
            seconds = pb_utils.get_input_tensor_by_name(request, "SECONDS").as_numpy()
            time.sleep(float(seconds.max()))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("TOOK", seconds)]))
        return responses
