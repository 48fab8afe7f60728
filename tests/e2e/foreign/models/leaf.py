"""Sleeps for as long as it is told and answers how long that took; below 0 it is told to fail."""

import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils

from tritonobs.stage import Stages

ANSWER_AN_ERROR, RAISE, DIE = -1.0, -2.0, -3.0


class TritonPythonModel:
    """One request after the other, each timed by itself."""

    def initialize(self, args):
        """Make the stages."""
        self.stages = Stages(args, pb_utils)

    def execute(self, requests):
        """What each request says."""
        return [self._one(request) for request in requests]

    def _one(self, request):
        asked = float(pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().ravel()[0])
        if asked == DIE:
            os._exit(1)
        with self.stages.request() as counted:
            if asked == ANSWER_AN_ERROR:
                counted.outcome("error")
                return pb_utils.InferenceResponse([], pb_utils.TritonError("as you wish"))
            if asked == RAISE:
                raise RuntimeError("as you wish")
            with self.stages.time("sleep"):
                began = time.perf_counter()
                time.sleep(asked)
                took = time.perf_counter() - began
            return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([took], np.float32))])

    def finalize(self):
        """Hand over what was counted."""
        self.stages.finalize()
