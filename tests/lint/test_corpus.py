"""Expressions of public repositories, judged by hand before the checks were written."""

import pytest

from support.lint_corpus import judged

SHARES = {"seen": 0.95, "unseen": 0.85}
"""Of the wrong expressions whose gravest fault is found; the half `unseen` was never looked at."""


@pytest.mark.parametrize("half", SHARES)
def test_the_gravest_fault_is_found_with_the_right_reason(half):
    """Only numbers, so that no one mends the checks by the half that is not to be seen."""
    wrong = [one for one in judged(half) if one.wrong]

    found = sum(one.gravest for one in wrong)

    assert len(wrong) >= 60
    assert found / len(wrong) >= SHARES[half]


@pytest.mark.parametrize("half", SHARES)
def test_right_expressions_are_left_alone(half):
    """Not one finding that the judgement does not let pass."""
    right = [one for one in judged(half) if not one.wrong]

    assert len(right) >= 30
    assert sum(bool(one.more) for one in right) == 0
