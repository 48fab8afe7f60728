"""What a request goes through: each step calls a model with tensors that are known by then."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tritonobs.stage import Stages

_BAD_IMAGE = "empty_image|unsupported_format|corrupt_image|too_large"
_REASON = re.compile(rf"(?:({_BAD_IMAGE})|inference_failed|bad_geometry): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A call of a model, and a stage of the same name."""

    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


STEPS = (
    Step(model="preprocess", inputs=("IMAGE",), outputs=("TENSOR", "GEOMETRY")),
    Step(model="detector", inputs=("TENSOR",), outputs=("DETECTIONS",)),
    Step(model="nms", inputs=("DETECTIONS", "GEOMETRY"), outputs=("RESULT",)),
)


class CallFailed(Exception):
    """A called model answered with an error, or could not be called; the text is that of the error."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        found = _REASON.match(text)
        self.reason = found[0].removesuffix(": ") if found else "callee_failed"
        self.image_is_bad = bool(found and found[1])
        """Whether the client sent something wrong: it should not try again."""


async def inspect_image(
    image: Any,  # noqa: ANN401 (a tensor of Triton)
    call: Callable[[Step, list[Any]], Awaitable[dict[str, Any]]],
    stages: Stages,
) -> Any:  # noqa: ANN401 (likewise)
    """The result tensor of one request; `call` calls a step's model and answers its outputs by name.

    Raises:
        CallFailed: with the text of the model that failed; counted under the stage of that call.
    """
    tensors = {"IMAGE": image}
    step = STEPS[0]
    try:
        for step in STEPS:
            with stages.time(step.model):
                tensors |= await call(step, [tensors[name] for name in step.inputs])
    except CallFailed as failure:
        # If a model refused something other than the image, it was made here, not by the client.
        (stages.invalid if failure.image_is_bad else stages.error)(step.model, failure.reason)
        raise
    return tensors["RESULT"]
