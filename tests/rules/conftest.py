"""What the rule tests share: promtool, and the loader of the cases."""

import importlib.util
from pathlib import Path

import pytest

from tritonobs.stack import binaries

TOOL = Path(__file__).parent.parent.parent / "bench" / "rule_cases.py"


def _rule_cases():
    spec = importlib.util.spec_from_file_location("rule_cases", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rule_cases = _rule_cases()


def pytest_generate_tests(metafunc):
    """Every test that asks for a `case` gets all of them."""
    if "case" in metafunc.fixturenames:
        cases = [
            pytest.param(case, id=f"{file}: {case.says}")
            for file, cases in rule_cases.load_cases().items()
            for case in cases
        ]
        metafunc.parametrize("case", cases)


@pytest.fixture(scope="session")
def promtool():
    """The promtool the stack uses."""
    return binaries.find("promtool")


@pytest.fixture(scope="session")
def generated():
    """Rule groups for a scrape interval."""
    return rule_cases.generated


@pytest.fixture(scope="session")
def cases():
    """Every case, by the file it stands in."""
    return rule_cases.load_cases()
