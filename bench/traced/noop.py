"""A Triton model that gives back what it gets."""

from __future__ import annotations

from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found] # Triton's own, only there


class TritonPythonModel:
    """As little as a Python model can do."""

    def execute(self, requests: list[Any]) -> list[Any]:
        """One answer for each request."""
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("TOOK", pb_utils.get_input_tensor_by_name(request, "SECONDS").as_numpy())]
            )
            for request in requests
        ]
