"""A Triton model that calls the model named in its configuration, and hands its trace on."""

from __future__ import annotations

import json
from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found] # Triton's own, only there


class TritonPythonModel:
    """A BLS pipeline of one call."""

    def initialize(self, args: dict[str, str]) -> None:
        """Remember whom to call."""
        self._called = json.loads(args["model_config"])["parameters"]["calls"]["string_value"]

    def execute(self, requests: list[Any]) -> list[Any]:
        """One call for each request."""
        responses = []
        for request in requests:
            call = pb_utils.InferenceRequest(
                model_name=self._called,
                requested_output_names=["TOOK"],
                inputs=[pb_utils.get_input_tensor_by_name(request, "SECONDS")],
                trace=request.trace(),
            )
            answer = call.exec()
            took = pb_utils.get_output_tensor_by_name(answer, "TOOK")
            responses.append(pb_utils.InferenceResponse([took]))
        return responses
