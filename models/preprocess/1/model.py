"""Image bytes to the network's input, for Triton's Python backend."""

import json

import cv2
import triton_python_backend_utils as pb_utils
from prepare import Preprocessor, Refusal
from settings import Settings

from tritonobs.stage import Stages


class TritonPythonModel:
    """IMAGE (JPEG or PNG bytes) in; TENSOR (3, 640, 640) and GEOMETRY (6) out, per image."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        cv2.setNumThreads(1)  # model instances are what uses the cores; more threads only fight over them
        parameters = {name: value["string_value"] for name, value in config["parameters"].items()}
        settings = Settings.read(parameters)
        self.stages = Stages(args, pb_utils)
        self.prepare = Preprocessor(self.stages, settings, max_batch_size=config["max_batch_size"])

    def execute(self, requests: list) -> list:
        with self.stages.request(len(requests)) as counted:
            images = [
                pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy().ravel() for request in requests
            ]
            responses = []
            for result in self.prepare(images):
                if isinstance(result, Refusal):
                    counted.outcome("invalid")
                    error = pb_utils.TritonError(result.text, pb_utils.TritonError.INVALID_ARG)
                    responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
                else:
                    tensors = [
                        pb_utils.Tensor("TENSOR", result.tensor),
                        pb_utils.Tensor("GEOMETRY", result.geometry),
                    ]
                    responses.append(pb_utils.InferenceResponse(output_tensors=tensors))
        return responses

    def finalize(self) -> None:
        self.stages.finalize()
