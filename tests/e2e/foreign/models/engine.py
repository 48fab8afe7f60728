"""A decoupled model that knows nothing of us and exports what vLLM's backend does: whole requests."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils

ANSWERS = 3
BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32]


class TritonPythonModel:
    """`execute` only hands over; Triton's counters end there."""

    def initialize(self, args):
        """One histogram, with vLLM's name and labels."""
        self.family = pb_utils.MetricFamily(
            name="vllm:e2e_request_latency_seconds",
            description="e2e request latency",
            kind=pb_utils.MetricFamily.HISTOGRAM,
        )
        labels = {"model": args["model_name"], "version": args["model_version"]}
        self.metric = self.family.Metric(labels=labels, buckets=BOUNDS)
        self.lock = threading.Lock()

    def execute(self, requests):
        """One thread for each request."""
        for request in requests:
            asked = float(pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().ravel()[0])
            threading.Thread(target=self._answer, args=(request.get_response_sender(), asked)).start()

    def _answer(self, sender, asked):
        began = time.perf_counter()
        for number in range(ANSWERS):
            time.sleep(asked / ANSWERS)
            took = time.perf_counter() - began
            last = number == ANSWERS - 1
            if last:
                with self.lock:
                    self.metric.observe(took)
            flags = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if last else 0
            answer = pb_utils.Tensor("OUT", np.array([took], np.float32))
            sender.send(pb_utils.InferenceResponse([answer]), flags)
