"""Expressions of public repositories, judged by hand before the checks were written."""

import pytest
import yaml

from support.lint_corpus import FOLDER, judged

SHARES = {"seen": 0.95, "unseen": 0.85, "fresh": 0.95}
"""Of the wrong expressions whose gravest fault is found; the part `unseen` was never looked at."""
LEAST = {"seen": (60, 30), "unseen": (60, 30), "fresh": (25, 15)}
"""How many wrong and right ones there are."""


@pytest.mark.parametrize("part", SHARES)
def test_the_gravest_fault_is_found_with_the_right_reason(part):
    """Only numbers, so that no one mends the checks by the part that is not to be seen."""
    wrong = [one for one in judged(part) if one.wrong]

    found = sum(one.gravest for one in wrong)

    assert len(wrong) >= LEAST[part][0]
    assert found / len(wrong) >= SHARES[part]


@pytest.mark.parametrize("part", SHARES)
def test_right_expressions_are_left_alone(part):
    """Not one finding that the judgement does not let pass."""
    right = [one for one in judged(part) if not one.wrong]

    assert len(right) >= LEAST[part][1]
    assert sum(bool(one.more) for one in right) == 0


def test_the_corpus_is_of_many_repositories():
    """Sixty expressions of forty, those not counted that were written for a class no one was seen with."""
    entries = [
        one
        for part in ("seen", "unseen")
        for one in yaml.safe_load((FOLDER / f"{part}.yaml").read_text(encoding="utf-8"))
    ]
    public = [one for one in entries if one.get("source") != "written"]

    assert len(public) >= 160
    assert len({one["repository"] for one in public}) >= 50
