"""A small fleet file to spoil, one line at a time."""

from __future__ import annotations

import pytest

from tritonobs.spec.load import Reading, read_text

FLEET = """\
fleet: shop
replicas:
  - {name: a, url: "http://10.0.0.1:8000"}
defaults:
  slos:
    availability: {objective: 99.9%}
models:
  checkout:
    qps_limit: 8
    versions: {"1": {}}
"""


class Spoiled:
    """The small fleet file with some of its text replaced."""

    def __init__(self) -> None:
        self.text = FLEET

    def replace(self, old: str, new: str) -> Spoiled:
        """Replace text that must be there."""
        assert old in self.text
        self.text = self.text.replace(old, new)
        return self

    def read(self) -> Reading:
        """Read it as if it stood in fleet.yaml."""
        return read_text(self.text, "fleet.yaml")

    def complaints(self) -> list[str]:
        """Every finding as its reader sees it."""
        return [str(finding) for finding in self.read().findings]


@pytest.fixture
def fleet() -> Spoiled:
    """The small fleet file."""
    return Spoiled()
