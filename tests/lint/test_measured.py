"""How wrong each wrong expression is: measured where the truth is known, and told on its page."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.linting import alert, fixed, ids, keda, panel, query
from tritonobs import programs
from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.formats import MEASURED, page_of

BENCH = Path(__file__).parent.parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import lint_errors  # noqa: E402 (benchmarks are programs and no package)
from lint_scenes import SCENES  # noqa: E402 (its folder is on the path from here on)

FILES = {"alert": alert, "panel": panel, "keda": keda, "query": query}


def test_every_check_has_a_world():
    """And every world a check."""
    assert set(SCENES) == set(CHECKS)


def test_the_pages_tell_what_is_measured_now():
    """The right expression gives the truth within 2 %, which the measurement itself demands."""
    if programs.look("promtool") is None:
        pytest.skip("promtool is not installed: tritonobs tools")

    assert lint_errors.measured() == json.loads(MEASURED.read_text())
    assert " ".join(page_of("mixed-models").split()).endswith(
        "One request a second takes 500 ms in a model, and 99 take 2 ms in another: "
        "the wrong one gives 6.98 ms, the right one gives 500 ms."
    )


@pytest.mark.parametrize("name", SCENES)
def test_the_measured_expressions_are_what_the_check_means(name):
    """It finds the wrong one, and leaves the right one alone."""
    scene = SCENES[name]
    made = FILES[scene.use]

    assert name in ids(*made(scene.wrong, **scene.words))
    assert name not in ids(*made(scene.right, **(scene.right_words or scene.words)))


def test_an_expression_that_is_not_off_is_no_example(monkeypatch):
    """Neither is a right one that is."""
    if programs.look("promtool") is None:
        pytest.skip("promtool is not installed: tritonobs tools")

    scene = SCENES["mixed-models"]
    for change, says in (
        ({"wrong": scene.right}, "mixed-models: the wrong expression gives the truth, 500"),
        ({"right": scene.wrong}, "mixed-models: the right expression gives 6.98, and the truth is 500"),
    ):
        monkeypatch.setattr(lint_errors, "SCENES", {"mixed-models": replace(scene, **change)})
        with pytest.raises(ValueError, match=says):
            lint_errors.measured()


FIXED = sorted(name for name, check in CHECKS.items() if check.fixed and name != "wrong-unit")
"""A unit that is mended leaves the expression as it is."""
OTHERS = {
    "unknown-series": (
        "unknown-label",
        'sum by (model) (rate(nv_inference_request_success_total{model="detector"}[5m]))',
    )
}
"""The world of another check, and what can be mended there."""


def test_what_a_fix_writes_gives_the_truth(tmp_path):
    """Each in the world in which the wrong expression is known to be wrong."""
    if programs.look("promtool") is None:
        pytest.skip("promtool is not installed: tritonobs tools")
    questions = []
    for name in FIXED:
        world, wrong = OTHERS.get(name, (name, SCENES[name].wrong))
        scene = SCENES[world]
        (tmp_path / name).mkdir()
        by, mended, _ = fixed(tmp_path / name, *FILES[scene.use](wrong, **scene.words), select=name)
        assert by == {name}
        questions.append((scene, mended))

    answers = lint_errors.evaluated(questions)

    for name, (scene, mended), answer in zip(FIXED, questions, answers, strict=True):
        assert lint_errors.is_true(answer.value(scene, scene.per), scene), (name, mended, answer)
