"""The network, through onnxruntime, for Triton's Python backend."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils
from network import Network

from tritonobs.stage import Stages


class TritonPythonModel:
    """TENSOR (3, 640, 640) in, DETECTIONS (25200, 7) out: x, y, w, h, objectness, one score per class."""

    def initialize(self, args: dict[str, str]) -> None:
        parameters = json.loads(args["model_config"])["parameters"]
        self.stages = Stages(args, pb_utils)
        self.network = Network(
            Path(__file__).with_name("model.onnx"),
            threads=int(parameters["intra_op_threads"]["string_value"]),
            device=int(args["model_instance_device_id"]) if args["model_instance_kind"] == "GPU" else None,
        )

    def execute(self, requests: list) -> list:
        with self.stages.request(len(requests)) as counted:
            tensors = [
                pb_utils.get_input_tensor_by_name(request, "TENSOR").as_numpy() for request in requests
            ]
            try:
                with self.stages.batch("infer", len(requests)):
                    detections = self.network.infer(tensors)
            except Exception as error:  # noqa: BLE001 (onnxruntime's errors have no class of their own)
                self.stages.error("infer", "inference_failed", len(requests))
                counted.outcome("error", len(requests))
                # Each has its own: Triton dies of an error that stands in two responses (docs/instrument.md).
                failures = [pb_utils.TritonError(f"inference_failed: {error}") for _ in requests]
                return [pb_utils.InferenceResponse(output_tensors=[], error=one) for one in failures]
            self.stages.items("infer", "images", sum(len(tensor) for tensor in tensors))
            return [
                pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("DETECTIONS", rows)])
                for rows in detections
            ]

    def finalize(self) -> None:
        self.stages.finalize()
