"""What the tests of boards share: the boards as Grafana reads them, and every query on them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tritonobs.render.grafana import load_boards
from tritonobs.render.rules import evaluate_mixin


@dataclass(frozen=True)
class Query:
    """One query of a board and where it stands."""

    board: str
    place: str
    expr: str


@pytest.fixture(name="boards", scope="session")
def _boards():
    """Every board by name."""
    return load_boards()


@pytest.fixture(name="panels", scope="session")
def _panels(boards):
    """Every panel of every board, as (board, panel); headlines are none."""
    return [
        (name, panel) for name, board in boards.items() for panel in board["panels"] if panel["type"] != "row"
    ]


@pytest.fixture(name="queries", scope="session")
def _queries(boards, panels):
    """Every query of every panel, variable and annotation."""
    of_panels = [
        Query(name, f"{panel['title']} {target['refId']}", target["expr"])
        for name, panel in panels
        for target in panel["targets"]
    ]
    of_variables = [
        Query(name, f"variable {one['name']}", _inside(one["query"]))
        for name, board in boards.items()
        for one in board["templating"]["list"]
        if one["type"] == "query"
    ]
    of_marks = [
        Query(name, f"mark {one['name']}", one["expr"])
        for name, board in boards.items()
        for one in board["annotations"]["list"]
    ]
    return of_panels + of_variables + of_marks


@pytest.fixture(name="records", scope="session")
def _records():
    """The names of everything that the rules record."""
    groups = evaluate_mixin({})["records"]["groups"]
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


def _inside(query: str) -> str:
    """The PromQL in a variable's query: the argument without the label."""
    return re.fullmatch(r"\w+\((.*?)(?:,\s*\w+)?\)", query, re.DOTALL)[1]
