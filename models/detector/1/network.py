"""Runs the detector's ONNX file on CUDA if onnxruntime has it here, else on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Tensor = NDArray[np.float32]

_CUDA = "CUDAExecutionProvider"


class Network:
    """The ONNX network at `path`, on GPU number `device` if it can be used, else on `threads` CPU threads."""

    def __init__(self, path: Path, *, threads: int, device: int | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # A thread that spins while it waits takes the core of another model instance.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.on_gpu = device is not None and _CUDA in onnxruntime.get_available_providers()
        providers = [(_CUDA, {"device_id": device})] if self.on_gpu else []
        self._session = onnxruntime.InferenceSession(
            path, options, providers=[*providers, "CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name

    def infer(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The rows of each tensor (n, 3, 640, 640): (n, 25200, 5 + classes).

        A GPU gets all of them at once; a CPU core is busy with one image, and joining them would only copy.
        """
        if not self.on_gpu or len(tensors) == 1:
            return [self._run(image) for image in tensors]
        rows = self._run(np.concatenate(tensors))
        return np.split(rows, np.cumsum([len(tensor) for tensor in tensors])[:-1])

    def _run(self, tensor: Tensor) -> Tensor:
        rows: Tensor = self._session.run(None, {self._input: tensor})[0]
        return rows
