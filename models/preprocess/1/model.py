"""Image bytes to the network's input, for Triton's Python backend."""

import json

import cv2
import triton_python_backend_utils as pb_utils
from header import ImageRefused
from prepare import Preprocessor

from tritonobs.faults import faults_of
from tritonobs.stage import Stages


class TritonPythonModel:
    """IMAGE (JPEG or PNG bytes) in; TENSOR (3, 640, 640) and GEOMETRY (6) out, per image."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        cv2.setNumThreads(1)  # model instances are what uses the cores; more threads only fight over them
        self.stages = Stages(args, pb_utils)
        self.prepare = Preprocessor(
            self.stages,
            max_side=int(config["parameters"]["max_side"]["string_value"]),
            max_batch_size=config["max_batch_size"],
            faults=faults_of(args["model_name"], args["model_version"]),
        )

    def execute(self, requests: list) -> list:
        with self.stages.batch("total", len(requests)):
            images = [
                pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy().ravel() for request in requests
            ]
            responses = []
            for result in self.prepare(images):
                if isinstance(result, ImageRefused):
                    error = pb_utils.TritonError(str(result), pb_utils.TritonError.INVALID_ARG)
                    responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
                else:
                    tensors = [
                        pb_utils.Tensor("TENSOR", result.tensor),
                        pb_utils.Tensor("GEOMETRY", result.geometry),
                    ]
                    responses.append(pb_utils.InferenceResponse(output_tensors=tensors))
                self.stages.outcome("error" if isinstance(result, ImageRefused) else "ok")
        return responses

    def finalize(self) -> None:
        self.stages.finalize()
