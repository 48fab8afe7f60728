"""A language model works on more requests at once than it used to, and each token takes longer."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs import names
from tritonobs.extensions.triage.cause import figure, growth
from tritonobs.extensions.triage.check import LATE, check
from tritonobs.extensions.triage.view import View
from tritonobs.stage.series import OUTPUT_TOKEN
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.timings.promql import labels_of
from tritonobs.units import format_latency

# Each step of an engine makes one token of each running request, so both grow together.
_MORE, _SLOWER = 1.5, 1.3


@check(order=100, explains=LATE)
def judge(view: View) -> Iterator[Cause]:
    """Models whose running requests and whose time between tokens grew together."""
    for (model, version), running in view.rows("llm_running", names.MODEL, names.VERSION).items():
        labels = labels_of((model, version))
        ran = view.value("llm_running", labels, before=True)
        took, takes = (
            view.value("token_seconds", labels | {names.STAGE: OUTPUT_TOKEN}, before=side)
            for side in (True, False)
        )
        if growth(running, ran) < _MORE or growth(takes, took) < _SLOWER:
            continue
        yield Cause(
            place=(model, version),
            sentence=(
                f"{model} works on {figure(running)} requests at once, was {figure(ran or 0)}, and a token "
                f"takes {format_latency(takes or 0)}, took {format_latency(took or 0)}"
            ),
            confidence=0.8,
            evidence=(
                Evidence("requests running", ran, running, "count"),
                Evidence("time between tokens", took, takes, "seconds"),
            ),
            next_steps=(
                "let fewer requests run at once (max_num_seqs of vLLM, max_batch_size of TensorRT-LLM)",
                "add a replica, or slow down the caller that sends more",
            ),
            asked=("llm_running", "token_seconds"),
        )
