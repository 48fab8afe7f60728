"""Plans from short fleet files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tritonobs.plan.build import build_plan, check
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.plan.fleet import Plan

HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'


@pytest.fixture
def plan_of() -> Callable[[str], Plan]:
    """The plan of a fleet file whose first two lines, name and replicas, are given."""

    def build(text: str) -> Plan:
        reading = read_text(HEAD + dedent(text), "fleet.yaml")
        assert reading.spec is not None, reading.findings
        assert reading.findings == ()
        return build_plan(reading.spec, Path("/etc/shop"))

    return build


@pytest.fixture
def complaints_of() -> Callable[[str], list[str]]:
    """What the check says about such a file, one line a finding."""

    def findings(text: str) -> list[str]:
        reading = read_text(HEAD + dedent(text), "fleet.yaml")
        assert reading.spec is not None, reading.findings
        assert reading.findings == ()
        return [f"{finding.severity.name} {finding}" for finding in check(reading.spec)]

    return findings
