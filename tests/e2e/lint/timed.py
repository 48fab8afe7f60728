"""A model that waits for a known time: a second for 100 pixels of width. Without an image it fails."""

import struct
import time

import numpy as np
import triton_python_backend_utils as pb_utils

from tritonobs.stage import Stages

PIXELS_PER_SECOND = 100


class TritonPythonModel:
    """One request after the other, each timed by itself."""

    def initialize(self, args):
        """Make the stages."""
        self.stages = Stages(args, pb_utils)

    def execute(self, requests):
        """Wait for each image."""
        return [self._one(request) for request in requests]

    def _one(self, request):
        image = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy().ravel()[0]
        if not image:
            raise RuntimeError("no image")
        # Of a PNG, whose first part begins with it.
        (width,) = struct.unpack_from(">I", image, 16)
        with self.stages.request(), self.stages.time("wait"):
            time.sleep(width / PIXELS_PER_SECOND)
        return pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.array([b"done"], np.object_))])

    def finalize(self):
        """Hand over what was counted."""
        self.stages.finalize()
