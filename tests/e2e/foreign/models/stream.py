"""A decoupled model that is timed: three answers from a thread of its own, after `execute` has returned."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils

from tritonobs.stage import Stages

ANSWERS = 3


class TritonPythonModel:
    """`execute` only hands over."""

    def initialize(self, args):
        """Make the stages."""
        self.stages = Stages(args, pb_utils)

    def execute(self, requests):
        """One thread for each request."""
        for request in requests:
            asked = float(pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().ravel()[0])
            work = (request.get_response_sender(), asked, self.stages.request())
            threading.Thread(target=self._answer, args=work).start()

    def _answer(self, sender, asked, handle):
        with handle:
            began = time.perf_counter()
            for number in range(ANSWERS):
                time.sleep(asked / ANSWERS)
                took = np.array([time.perf_counter() - began], np.float32)
                last = number == ANSWERS - 1
                flags = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if last else 0
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", took)]), flags)

    def finalize(self):
        """Hand over what was counted."""
        self.stages.finalize()
