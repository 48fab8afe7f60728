"""An identity model that refuses negative numbers, with stages or, under the name `bare`, without."""

from __future__ import annotations

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """What came in goes out."""

    def initialize(self, args: dict[str, str]) -> None:
        """Make the stages."""
        self.stages = None
        if args["model_name"] != "bare":
            from tritonobs.stage import Stages  # noqa: PLC0415 (the bare model must not pay for it)

            self.stages = Stages(args, pb_utils)

    def execute(self, requests: list) -> list:
        """Answer each request with its own number, or an error."""
        if self.stages is None:
            return [self._answer(request) for request in requests]
        responses = []
        with self.stages.batch("total", len(requests)):
            for request in requests:
                with self.stages.time("answer"):
                    responses.append(self._answer(request))
                self.stages.outcome("error" if responses[-1].has_error() else "ok")
        return responses

    def _answer(self, request: object) -> object:
        number = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
        if number.min() < 0:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("negative"))
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", number)])

    def finalize(self) -> None:
        """Hand over what is left."""
        if self.stages:
            self.stages.finalize()
