"""The verdict: which cause comes first, what follows from it, since when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.prometheus import Series
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.tables import verdict_page, verdict_text
from tritonobs.report.formats import json_text

if TYPE_CHECKING:
    from conftest import Fleet


def test_independent_causes_are_all_told(fleet: Fleet) -> None:
    """A slow stage and a muted robot have nothing to do with each other."""
    fleet.now.slow(0.070, "preprocess", "decode")
    fleet.now.put("robot_muted", 1.0, robot="oncall")

    assert sorted(fleet.checks()) == ["delivery", "slow_stage"]


def test_a_cause_in_another_pipeline_explains_nothing_here(fleet: Fleet) -> None:
    """Larger images into one model do not make an unrelated one slow."""
    for window, mean in ((fleet.before, 0.010), (fleet.now, 0.100)):
        window.model("nms")
        window.put("calls", None, pipeline="inspect", stage="nms", model="nms")
        for stage in ("total", "suppress"):
            window.stage("nms", stage, mean)
    fleet.now.slow(0.070, "preprocess", "decode")
    fleet.now.size("preprocess", "decode", "megapixels", 8.0)

    assert sorted(fleet.checks()) == ["larger_inputs", "slow_stage"]


def test_the_moment_of_the_change_is_found_in_the_trend(fleet: Fleet) -> None:
    """Since when: where the stage's own mean stepped."""
    fleet.now.slow(0.070, "preprocess", "decode")
    labels = {"model": "preprocess", "version": "1", "stage": "decode"}
    points = tuple((9_000.0 + 10 * at, 0.012 if at < 60 else 0.082) for at in range(100))
    fleet.trends["stage"] = (
        Series(labels={**labels, "stage": "normalise"}, points=((9_000.0, 1.0),) * 20),
        Series(labels=labels, points=points),
    )

    assert fleet.verdict().causes[0].since == 9_600.0


def test_one_model_is_judged_alone(fleet: Fleet) -> None:
    """With --model, what happens elsewhere is not told."""
    fleet.model = "detector"
    fleet.now.slow(0.070, "preprocess", "decode")

    assert fleet.verdict().sentence.startswith("no problems found in detector")


def test_the_same_snapshot_gives_the_same_verdict(fleet: Fleet) -> None:
    """No clock, no chance."""
    fleet.now.slow(0.070, "preprocess", "decode")
    snapshot = fleet.snapshot()

    assert json_text(fleet.verdict()) == json_text(fleet.verdict())
    assert snapshot == fleet.snapshot()


def test_the_verdict_as_text_begins_with_the_verdict(fleet: Fleet) -> None:
    """One sentence, then how sure, then the numbers, then what to do; and it fits into a chat."""
    fleet.now.slow(0.070, "preprocess", "decode")
    fleet.now.size("preprocess", "decode", "megapixels", 8.0)

    lines = verdict_text(fleet.verdict(), tables=False).splitlines()

    assert lines[0] == (
        "UNHEALTHY: preprocess / decode gets larger inputs: 8 megapixels on average (was 1), "
        "and a request to inspect takes 70 ms longer"
    )
    assert lines[2] == "  larger_inputs, confidence 95%"
    assert "  - mean megapixels into decode: 8 megapixels (was 1 megapixels)" in lines
    assert any(line.startswith("  > refuse needless sizes") for line in lines)
    assert "Consequences:" in lines
    assert sum(map(len, lines)) < 2_000


def test_the_verdict_as_page_escapes_names(fleet: Fleet) -> None:
    """A model called <script> is text."""
    fleet.now.put("robot_muted", 1.0, robot="<script>alert(1)</script>")

    page = verdict_page(fleet.verdict(), links=[("a & b", "http://x/?a=1&b=2")], questions=[("q", "x < 1")])

    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert 'href="http://x/?a=1&amp;b=2"' in page


def test_the_verdict_says_which_baseline_was_taken(fleet: Fleet) -> None:
    """Where it is not the one that was asked for."""
    snapshot = replace(
        fleet.snapshot(), baseline_note="the window before was unhealthy, too; baseline ends x earlier"
    )

    text = verdict_text(triage(snapshot))

    assert text.splitlines()[2] == "(the window before was unhealthy, too; baseline ends x earlier)"


@pytest.mark.parametrize("lost", ["now", "before", "both"])
def test_a_question_without_an_answer_is_no_error(fleet: Fleet, lost: str) -> None:
    """Prometheus may refuse one of them and answer the rest, while a worker lives, is dead or is new."""
    worker = {"instance": "a:8002", "model": "preprocess", "version": "1"}
    fleet.now.put("heartbeats", 9_500.0, **worker, worker="preprocess_0_0-7a-1a")
    fleet.now.put("alive", 0.0, **worker, worker="preprocess_0_0-7a-1a")
    for question, value in (("heartbeats", 10_000.0), ("first_beats", 9_800.0), ("alive", 1.0)):
        fleet.now.put(question, value, **worker, worker="preprocess_0_0-9c-2b")
    windows = [
        window for name, window in (("now", fleet.now), ("before", fleet.before)) if lost in (name, "both")
    ]
    questions = {question for window in windows for question in window.answers}
    assert {"heartbeats", "alive"} & questions
    for question in sorted(questions):
        kept = [window.answers.pop(question, None) for window in windows]

        assert fleet.verdict() is not None

        for window, answers in zip(windows, kept, strict=True):
            if answers is not None:
                window.answers[question] = answers
