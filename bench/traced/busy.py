"""A Triton model that computes for a millisecond."""

from __future__ import annotations

import time
from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found] # Triton's own, only there

_SECONDS = 0.001


class TritonPythonModel:
    """Keeps its core busy, as a small model does."""

    def execute(self, requests: list[Any]) -> list[Any]:
        """One request after the other."""
        responses = []
        for request in requests:
            end = time.perf_counter() + _SECONDS
            while time.perf_counter() < end:
                pass
            seconds = pb_utils.get_input_tensor_by_name(request, "SECONDS").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("TOOK", seconds)]))
        return responses
