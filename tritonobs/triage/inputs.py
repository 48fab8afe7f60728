"""Errors for what clients sent: no traffic and no server makes an image corrupt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tritonobs import names

if TYPE_CHECKING:
    from tritonobs.timings.measured import Subject
    from tritonobs.triage.view import View

# What our inspection models call input that they cannot use (models/preprocess/1/sniff.py).
REASONS: Final = frozenset(("corrupt_image", "empty_image", "too_large", "unsupported_format"))
_NEARLY_ALL = 0.9


def explain_errors(view: View, subject: Subject) -> bool:
    """Whether nearly all errors of a model are of input, by what its own stages and those it calls count."""
    model, _ = subject
    models = {model, *(call.model for call in view.now.calls if call.pipeline == model)}
    # A pipeline that passes an error on counts it again: not the sum of both.
    of_input = dict.fromkeys(models, 0.0)
    for (counted_by, reason), rate in view.rows("stage_errors", names.MODEL, names.REASON).items():
        if counted_by in models and reason in REASONS:
            of_input[counted_by] += rate
    errors = (view.error_ratio(subject) or 0.0) * view.request_rate(subject)
    return max(of_input.values()) >= _NEARLY_ALL * errors > 0
