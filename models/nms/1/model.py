"""Rows of the network to JSON, for Triton's Python backend."""

import json

import cv2
import numpy as np
import triton_python_backend_utils as pb_utils
from boxes import Settings
from report import BadGeometry, Reporter

from tritonobs.stage import Stages


class TritonPythonModel:
    """DETECTIONS (25200, 7) and GEOMETRY (6) in, RESULT (JSON) out, per image."""

    def initialize(self, args: dict[str, str]) -> None:
        cv2.setNumThreads(1)  # model instances are what uses the cores; more threads only fight over them
        parameters = json.loads(args["model_config"])["parameters"]
        settings = Settings.read({name: value["string_value"] for name, value in parameters.items()})
        self.stages = Stages(args, pb_utils)
        self.report = Reporter(self.stages, settings)

    def execute(self, requests: list) -> list:
        with self.stages.request(len(requests)) as counted:
            tensors = [
                [
                    pb_utils.get_input_tensor_by_name(request, name).as_numpy()
                    for name in ("DETECTIONS", "GEOMETRY")
                ]
                for request in requests
            ]
            responses = []
            for result in self.report(tensors):
                if isinstance(result, BadGeometry):
                    counted.outcome("invalid")
                    error = pb_utils.TritonError(str(result), pb_utils.TritonError.INVALID_ARG)
                    responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
                else:
                    tensor = pb_utils.Tensor("RESULT", np.array(result, object)[:, None])
                    responses.append(pb_utils.InferenceResponse(output_tensors=[tensor]))
        return responses

    def finalize(self) -> None:
        self.stages.finalize()
