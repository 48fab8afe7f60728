"""What all tests share: where the stack's programs are, and that no secret is left behind."""

import os
from pathlib import Path

import pytest

from tritonobs.testing.leaks import leaks

os.environ.setdefault("TRITONOBS_TOOLS", str(Path(__file__).parent.parent / ".tools"))


@pytest.fixture(scope="session", autouse=True)
def _nothing_secret_is_left_behind(tmp_path_factory):
    """After the last test: no log, state folder or artifact of the whole run holds a secret."""
    yield
    found = leaks(tmp_path_factory.getbasetemp())
    assert found == [], f"secrets stand in {', '.join(map(str, found))}"
