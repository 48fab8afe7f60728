"""Our own rules and boards: nothing is wrong with them, and every series they read is in the catalogue."""

import time
from pathlib import Path

import pytest
import yaml

from tritonobs import assets
from tritonobs.extensions.lint.catalogue import catalogue
from tritonobs.extensions.lint.configuration import files_of
from tritonobs.extensions.lint.grafana import board_expressions
from tritonobs.extensions.lint.linter import Linter, Options, lint_files
from tritonobs.extensions.lint.located import Source, read_json
from tritonobs.extensions.lint.tree import parse, selectors
from tritonobs.render.rules import evaluate_mixin

OURS = ("nv_", "tritonobs_")
GOLDEN = Path(__file__).parent.parent / "golden"
SHAPES = [
    {},
    {"tier": "shard"},
    {"tier": "global"},
    {"evaluationInterval": "5s"},
    {"scrapeSeconds": 60, "evaluationInterval": "1m"},
]


def _rules(config):
    return [
        rule
        for file in evaluate_mixin(config).values()
        for group in file["groups"]
        for rule in group["rules"]
    ]


@pytest.mark.parametrize("config", SHAPES, ids=str)
def test_nothing_is_wrong_with_our_rules(config):
    """In every tier, at every scrape interval."""
    linter = Linter(Options())
    for name, file in evaluate_mixin(config).items():
        linter.read_text(yaml.safe_dump(file), f"{name}.yml")

    result = linter.result()

    assert result.expressions > 50
    assert [str(one.finding) for one in result.problems] == []


def test_nothing_is_wrong_with_what_build_writes():
    """Rules for a scrape interval of 5 s, Alertmanager's configuration and provisioning, all together."""
    result = lint_files(files_of([GOLDEN]), Options())

    assert result.expressions > 200
    assert [str(one.finding) for one in result.problems] == []


def test_nothing_is_wrong_with_our_boards():
    """As Grafana gets them."""
    result = lint_files(files_of([assets.folder("dashboards") / "generated"]), Options())

    assert (result.files, [str(one.finding) for one in result.problems]) == (8, [])
    assert result.expressions > 200


def test_our_rules_and_boards_read_series_of_the_catalogue():
    """A series of Triton or of ours that the catalogue lacks would be unknown to users' files, too."""
    texts = {rule["expr"] for rule in _rules({})}
    for board in (assets.folder("dashboards") / "generated").glob("*.json"):
        texts |= {one.plain for one in board_expressions(read_json(Source(board.name, board.read_text())))}
    names = {one.name for text in texts for one in selectors(parse(text))}

    assert len(names) > 100
    assert {one for one in names if one.startswith(OURS) and not catalogue().find(one)} == set()


def test_a_thousand_expressions_take_hardly_more_work_than_their_yaml():
    """Parsed and judged: less than 2.8 times what PyYAML takes to read them, 1.4 to 1.9 as measured.

    Two seconds on a quiet machine; on a busy one both take longer.
    """
    rules = _rules({})
    many = [dict(rule, expr=f"{rule['expr']} # {number}") for number in range(4) for rule in rules][:1000]
    text = yaml.safe_dump({"groups": [{"name": "g", "rules": many}]})
    linter = Linter(Options())
    linter.read_text(text, "many.yml")

    began = time.process_time()
    yaml.safe_load(text)
    read = time.process_time()
    result = linter.result()

    assert result.expressions == 1000
    assert time.process_time() - read < 2.8 * (read - began)
