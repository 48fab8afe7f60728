"""A pipeline that calls a model twice at once and waits for both."""

import asyncio

import triton_python_backend_utils as pb_utils

from tritonobs.stage import Stages


class TritonPythonModel:
    """BLS with gathered calls."""

    def initialize(self, args):
        """Make the stages."""
        self.stages = Stages(args, pb_utils)

    async def execute(self, requests):
        """All requests side by side."""
        with self.stages.request(len(requests)) as counted:
            return await asyncio.gather(*(self._one(request, counted) for request in requests))

    async def _one(self, request, counted):
        tensor = pb_utils.get_input_tensor_by_name(request, "IN")
        answers = await asyncio.gather(self._call(tensor), self._call(tensor))
        failed = next((answer for answer in answers if answer.has_error()), None)
        if failed is not None:
            counted.outcome("error")
            return pb_utils.InferenceResponse([], pb_utils.TritonError(failed.error().message()))
        return pb_utils.InferenceResponse(answers[0].output_tensors())

    async def _call(self, tensor):
        with self.stages.time("leaf"):
            return await pb_utils.InferenceRequest(
                model_name="leaf", requested_output_names=["OUT"], inputs=[tensor]
            ).async_exec()

    def finalize(self):
        """Hand over what was counted."""
        self.stages.finalize()
