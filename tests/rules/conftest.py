"""What the rule tests share: promtool, and the loader of the cases."""

import os
import zlib
from functools import cache

import pytest

from support import rule_cases
from support.case import rule_name
from support.case_engine import CaseEngine
from support.tiered import reads_increases, tiered_groups
from tritonobs import programs
from tritonobs.render.rules import evaluate_mixin

_SHORT_MINUTES = 120


@cache
def _of_two_tiers():
    """The names of all rules of a shard and the global tier."""
    return {rule_name(rule) for group in tiered_groups(rule_cases.knobs_for(15)) for rule in group["rules"]}


@cache
def _of_a_shard():
    """The names of all rules of a shard."""
    files = evaluate_mixin({"tier": "shard"}).values()
    return {rule_name(rule) for file in files for group in file["groups"] for rule in group["rules"]}


def pytest_generate_tests(metafunc):
    """Tests that ask for a `case` get all of them, for a `promtool_case` or `tiered_case` some."""
    every = [(file, case) for file, cases in rule_cases.load_cases().items() for case in cases]
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", [pytest.param(case, id=f"{file}: {case.says}") for file, case in every])
    if "promtool_case" in metafunc.fixturenames:
        chosen = _some([case for _, case in every], "TRITONOBS_CASES", 16)
        metafunc.parametrize("promtool_case", chosen, ids=lambda case: case.says)
    if "tiered_case" in metafunc.fixturenames:
        # Some records of one Prometheus are only steps to others, and what a shard records reaches the global
        # tier under another name: a case that brings it along is about one Prometheus.
        asked = [
            case
            for _, case in every
            if _of_two_tiers() >= set(case.rules) and not _of_a_shard().intersection(case.given)
        ]
        some = _some(asked, "TRITONOBS_TIERS", 4)
        # What a shard counts and the global tier does not is lost: such cases are few, and always asked.
        chosen = [case for case in asked if case in some or reads_increases(case)]
        metafunc.parametrize("tiered_case", chosen, ids=lambda case: case.says)


def _some(cases, variable, every):
    """About one case in `every`, of all files, none of which takes days; all where the variable says `all`.

    A case is chosen by what it says, so that a new one does not change which of the others are.
    """
    if os.environ.get(variable) == "all":
        return cases
    short = [case for case in cases if case.world.minutes <= _SHORT_MINUTES]
    return [case for case in short if zlib.crc32(case.says.encode()) % every == 0]


@pytest.fixture(scope="session")
def promtool():
    """The promtool the stack uses."""
    return programs.find("promtool")


@pytest.fixture(scope="session")
def case_engine():
    """A Prometheus that computes cases."""
    with CaseEngine(programs.find("prometheus")) as running:
        yield running


@pytest.fixture(scope="session")
def generated():
    """Rule groups for a scrape interval."""
    return rule_cases.generated


@pytest.fixture(scope="session")
def tiered():
    """Rule groups of a shard and the global tier for a scrape interval."""
    return cache(lambda seconds: tiered_groups(rule_cases.knobs_for(seconds)))


@pytest.fixture(scope="session")
def cases():
    """Every case, by its file."""
    return rule_cases.load_cases()
