"""The calls of `inspect`: their order, what they carry, and what becomes of their errors."""

import asyncio
import re

import pytest
from pipeline import STEPS, CallFailed, inspect_image

IMAGE_REASONS = {"empty_image", "unsupported_format", "corrupt_image", "too_large"}
DURATIONS = "tritonobs_stage_duration_seconds_count"


def _inspect(stages, *, failing="", text=""):
    async def call(step, tensors):
        await asyncio.sleep(0)
        if step.model == failing:
            raise CallFailed(text)
        return {name: f"{name} of {' and '.join(tensors)}" for name in step.outputs}

    return asyncio.run(inspect_image("bytes", call, stages))


def test_each_model_gets_what_the_ones_before_answered(stages):
    """preprocess, detector, nms; each call is a stage."""
    result = _inspect(stages)

    assert result == "RESULT of DETECTIONS of TENSOR of bytes and GEOMETRY of bytes"
    for step in STEPS:
        assert stages.counted(DURATIONS, stage=step.model) == 1
    assert stages.counted("tritonobs_stage_errors_total") == 0


@pytest.mark.parametrize(
    ("failing", "text", "reason"),
    [
        ("preprocess", "too_large: 12000x8000 px, the limit is 4000 px a side", "too_large"),
        ("preprocess", "corrupt_image: JPEG of 3x3 px cannot be decoded from 9 bytes", "corrupt_image"),
        ("preprocess", "empty_image: 0 bytes; JPEG and PNG are read", "empty_image"),
        ("preprocess", "unsupported_format: GIF of 70 bytes; JPEG and PNG are read", "unsupported_format"),
        ("nms", "bad_geometry: [[0]], expected finite numbers", "bad_geometry"),
        ("detector", "inference_failed: out of memory", "inference_failed"),
        ("nms", "Model 'nms' is not ready", "callee_failed"),
        ("nms", "too_large but no reason", "callee_failed"),
    ],
)
def test_error_of_a_called_model_is_told_and_counted_under_its_reason(stages, failing, text, reason):
    """No later model is called; a text without a known reason counts as `callee_failed`."""
    with pytest.raises(CallFailed, match=re.escape(text)) as caught:
        _inspect(stages, failing=failing, text=text)

    assert caught.value.image_is_bad == (reason in IMAGE_REASONS)
    assert stages.counted("tritonobs_stage_errors_total") == 1
    assert stages.counted("tritonobs_stage_errors_total", stage=failing, reason=reason) == 1
    refused = stages.counted("tritonobs_stage_errors_total", outcome="invalid")
    assert refused == (1 if reason in IMAGE_REASONS else 0)
    called = [step.model for step in STEPS if stages.counted(DURATIONS, stage=step.model)]
    assert called[-1] == failing


def test_configuration_says_which_models_are_called(repository):
    """`pipeline_calls` in config.pbtxt is what the code does."""
    config = (repository / "inspect" / "config.pbtxt").read_text()

    assert ",".join(f"{step.model}:1" for step in STEPS) in config


@pytest.mark.parametrize("model", ["preprocess", "detector", "nms", "inspect"])
def test_model_holds_only_what_triton_calls(repository, model):
    """At most 80 lines; the work is beside it."""
    assert len((repository / model / "1" / "model.py").read_text().splitlines()) <= 80
