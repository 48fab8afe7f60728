"""A model that behaves like a language model, for Triton's Python backend: words in, one response a word."""

from __future__ import annotations

import json

import numpy as np
import triton_python_backend_utils as pb_utils
from engine import Engine, Sequence
from meter import Meter

_USUAL_LENGTH = 16


class TritonPythonModel:
    """text_input and max_tokens in; text_output out, as many responses as words (decoupled)."""

    def initialize(self, args: dict[str, str]) -> None:
        given = {
            name: value["string_value"]
            for name, value in json.loads(args["model_config"])["parameters"].items()
        }
        self.engine = Engine(
            Meter(pb_utils, {"model": args["model_name"], "version": args["model_version"]}),
            cache_tokens=int(given["cache_tokens"]),
            max_num_seqs=int(given["max_num_seqs"]),
            read_seconds=float(given["read_seconds"]),
            step_seconds=float(given["step_seconds"]),
            seat_seconds=float(given["seat_seconds"]),
        )
        self.engine.start()

    def execute(self, requests: list) -> None:
        for request in requests:
            text = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy().flatten()[0]
            length = pb_utils.get_input_tensor_by_name(request, "max_tokens")
            sender = request.get_response_sender()
            sequence = Sequence(
                words=tuple(text.decode("utf-8", "replace").split()) or ("",),
                wanted=max(1, int(length.as_numpy().flatten()[0]) if length is not None else _USUAL_LENGTH),
                say=lambda word, sender=sender: _send(sender, word),
            )
            if not self.engine.add(sequence):
                failure = pb_utils.TritonError("the prompt and its answer are longer than the cache")
                sender.send(
                    pb_utils.InferenceResponse(output_tensors=[], error=failure),
                    flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL,
                )

    def finalize(self) -> None:
        self.engine.stop()


def _send(sender: object, word: str | None) -> None:
    """A word of the answer; None ends it."""
    if word is None:
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return
    tensor = pb_utils.Tensor("text_output", np.array([word.encode()], dtype=np.object_))
    sender.send(pb_utils.InferenceResponse(output_tensors=[tensor]))
