"""The whole inspection as one model: calls preprocess, detector and nms, for Triton's Python backend."""

import asyncio

import triton_python_backend_utils as pb_utils
from pipeline import CallFailed, Step, inspect_image

from tritonobs.stage import Request, Stages


class TritonPythonModel:
    """IMAGE (JPEG or PNG bytes) in, RESULT (JSON) out, per image. Requests of a batch run side by side."""

    def initialize(self, args: dict[str, str]) -> None:
        self.stages = Stages(args, pb_utils)

    async def execute(self, requests: list) -> list:
        with self.stages.request(len(requests)) as counted:
            return await asyncio.gather(*(self._inspect(request, counted) for request in requests))

    async def _inspect(self, request: object, counted: Request) -> object:
        trace = {"trace": request.trace()} if hasattr(request, "trace") else {}

        async def call(step: Step, tensors: list) -> dict:
            inference = pb_utils.InferenceRequest(
                model_name=step.model,
                requested_output_names=list(step.outputs),
                inputs=tensors,
                preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0),
                **trace,
            )
            try:
                response = await inference.async_exec()
            except pb_utils.TritonModelException as failure:  # the model is not loaded
                raise CallFailed(str(failure)) from failure
            if response.has_error():
                raise CallFailed(response.error().message())
            return {tensor.name(): tensor for tensor in response.output_tensors()}

        image = pb_utils.get_input_tensor_by_name(request, "IMAGE")
        try:
            result = await inspect_image(image, call, self.stages)
        except CallFailed as failure:
            counted.outcome("invalid" if failure.image_is_bad else "error")
            # Triton forgets the code that a called model answered with: each of its errors would be INTERNAL.
            code = pb_utils.TritonError.INVALID_ARG if failure.image_is_bad else pb_utils.TritonError.INTERNAL
            error = pb_utils.TritonError(str(failure), code)
            return pb_utils.InferenceResponse(output_tensors=[], error=error)
        return pb_utils.InferenceResponse(output_tensors=[result])

    def finalize(self) -> None:
        self.stages.finalize()
