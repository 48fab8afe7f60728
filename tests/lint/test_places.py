"""Where a finding is: the line and column of the word in the file, in whatever it is written."""

import json

import pytest
import yaml

from support.linting import linted
from tritonobs.extensions.lint.expression import substituted
from tritonobs.extensions.lint.located import Source, read_yaml
from tritonobs.extensions.lint.tree import parse, walk

WRONG = "nv_inference_request_success_total"
EXPRESSION = f'sum by (model) (rate({WRONG}{{model="a", pod=~"b.*"}}[5m]))'


def _places(text, file):
    """Line and column of each finding about the wrong name, and of that name in the file."""
    found = [
        (one.finding.place.line, one.finding.place.column)
        for one in linted(text, file).problems
        if one.id == "unknown-series"
    ]
    lines = [
        (number, line.find(WRONG) + 1) for number, line in enumerate(text.splitlines(), 1) if WRONG in line
    ]
    return found, lines


RULE = """\
groups:
  - name: g
    rules:
      - alert: A
        expr: {}
        for: 5m
"""
BLOCK = f"""|
          sum by (model) (
            # a comment, é and 毫秒
            rate({WRONG}[5m])
          ) > 5"""
FOLDED = f""">-
          sum by (model) (

            rate({WRONG}[5m])
          ) > 5"""
BOARD = {
    "title": "b",
    "schemaVersion": 39,
    "panels": [
        {
            "title": 'a "quoted" é',
            "targets": [{"expr": f'rate({WRONG}{{a="\u00e9\\\\d"}}[$__rate_interval]) > 5'}],
        },
        {"type": "row", "panels": [{"title": "in a row", "targets": [{"expr": f"\trate({WRONG}[5m])\n"}]}]},
    ],
}
WRITTEN = {
    "plain": RULE.format(EXPRESSION.replace('"', "'")),
    "double": RULE.format(json.dumps(EXPRESSION)),
    "single": RULE.format(f"'{EXPRESSION}'"),
    "single with its quote": RULE.format("'" + EXPRESSION.replace('"', "''") + "'"),
    "block": RULE.format(BLOCK),
    "folded": RULE.format(FOLDED),
    "plain of two lines": RULE.format(f"sum by (model)\n          (rate({WRONG}[5m]))"),
    "double of two lines": RULE.format(f'"sum by (model)\n          (rate({WRONG}[5m]))"'),
    "anchors": "x: &x 'rate(a[5m])'\n" + RULE.format(f"&y {EXPRESSION}".replace('"', "'")),
    "object": "kind: PrometheusRule\nspec:\n"
    + "".join(f"  {line}\n" for line in RULE.format(BLOCK).splitlines()),
    "second document": "kind: Service\n---\n" + RULE.format(BLOCK),
    "windows": RULE.format(BLOCK).replace("\n", "\r\n"),
    "board as YAML's text": yaml.safe_dump(
        {"kind": "ConfigMap", "data": {"b.json": json.dumps(BOARD, indent=2)}}, default_style="|"
    ),
    "rules in a ConfigMap": "kind: ConfigMap\ndata:\n  r.yml: |\n"
    + "".join(f"    {line}\n" for line in RULE.format(BLOCK).splitlines()),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_finding_stands_at_its_word(text):
    """In every way in which YAML writes a text, and in a text within a text."""
    found, lines = _places(text, "a.yaml")

    assert found == lines
    assert found


@pytest.mark.parametrize("indent", [2, None])
def test_a_finding_in_a_board_stands_at_its_word(indent):
    """Also where the whole board is one line."""
    text = json.dumps(BOARD, indent=indent)
    found, lines = _places(text, "board.json")

    assert found if indent is None else found == lines
    offsets = [text.find(WRONG), text.rfind(WRONG)]
    assert [column for _, column in found] == [offset - text.rfind("\n", 0, offset) for offset in offsets]


@pytest.mark.parametrize(("kind", "found"), [("prometheus", 1), ("loki", 0)])
def test_a_board_of_the_second_schema_is_read(kind, found):
    """As Grafana 12 writes it: elements instead of panels."""
    query = {
        "kind": "DataQuery",
        "group": kind,
        "spec": {"expr": "nv_gpu_utilization > 80", "legendFormat": ""},
    }
    panel = {
        "title": "Cards",
        "data": {
            "kind": "QueryGroup",
            "spec": {"queries": [{"kind": "PanelQuery", "spec": {"query": query}}]},
        },
        "vizConfig": {"kind": "VizConfig", "spec": {"fieldConfig": {"defaults": {"unit": "percentunit"}}}},
    }
    board = {
        "kind": "Dashboard",
        "spec": {"title": "b", "elements": {"panel-1": {"kind": "Panel", "spec": panel}}},
    }

    problems = linted(json.dumps(board, indent=1), "board.json").problems

    assert [one.id for one in problems] == ["ratio-and-percent"] * found
    assert all(one.finding.message.startswith("Cards: ") for one in problems)


def test_queries_of_a_file_are_read_one_by_one():
    """Separated by empty lines or one a line, with comments between them."""
    text = f"# first\nup\n\n# second\nsum(\n  rate({WRONG}[5m])\n)\n"
    lines = f"rate({WRONG}[5m])\nup\n{WRONG} > 1\n"

    assert _places(text, "q.promql") == ([(6, 8)], [(6, 8)])
    assert [place for place, _ in _places(lines, "q.promql")[0]] == [1, 3]


def test_code_in_markdown_is_read_where_it_stands():
    """Of fences that say what they hold; what stands above is what the expression is for."""
    text = f"# Queries\n\nInline {WRONG}.\n\n```promql\n{EXPRESSION}\n```\n\n```text\n{WRONG}\n```\n"

    (found,) = linted(text, "README.md").problems
    assert (found.finding.place.line, found.finding.place.column) == (6, EXPRESSION.find(WRONG) + 1)


def test_parts_of_an_expression_know_where_they_stand():
    """The text from start to end of each selector parses to the same selector."""
    text = (
        "histogram_quantile(0.99, sum by (le, model) (rate(a_bucket{x=\"}[5m]\", y=~'(b)'}[5m] offset 1h)))"
        " * on (model) group_left (x) (1 + sum(rate(b[1m30s])) without (instance)) / -clamp_min(c, 1)"
        " or max_over_time((rate(a[5m]))[1h:1m]) == bool -1 # a comment, a[5m]\n"
    )

    pieces = [text[node.start : node.end] for node, _ in walk(parse(text)) if not hasattr(node, "inner")]

    assert """a_bucket{x="}[5m]", y=~'(b)'}[5m] offset 1h""" in "\n".join(pieces) or any(
        piece.startswith("a_bucket{") and piece.endswith("[5m]") for piece in pieces
    )
    assert {"0.99", "1", "c", "a[5m]", "-1", "b[1m30s]"} <= set(pieces)


@pytest.mark.parametrize(
    "text",
    [
        'rate(x{a=~"$b", c="${d:regex}", e="[[f]]"}[$__rate_interval])',
        "histogram_quantile($q, sum by ($group, le) (rate(x_bucket[[[w]]])))",
        "topk(${n:raw}, max_over_time(x[${__range_s}s:] offset $o))",
        "increase(x[$__range]) * $__interval_ms > $threshold",
        "${aggregation}(rate(nv_${what}_us[1m]))",
        "x $operator 5",
    ],
)
def test_variables_of_grafana_are_understood(text):
    """Each becomes something of the same length that parses."""
    guesses = [substituted(text, instead=instead) for instead in ("", "number", "operator")]
    parsed = 0
    for guess in guesses:
        assert len(guess) == len(text)
        try:
            parse(guess)
            parsed += 1
        except Exception:  # noqa: BLE001, S110 (one of them has to parse)
            pass

    assert parsed
    board = {"title": "b", "schemaVersion": 1, "panels": [{"title": "p", "targets": [{"expr": text}]}]}
    assert [one.id for one in linted(json.dumps(board), "b.json").problems] == []


def test_values_that_merge_and_repeat_are_read():
    """Aliases and `<<` of YAML, with what is written there winning."""
    (value,) = read_yaml(Source("f", "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a]"))

    assert value == {"a": {"x": "1", "y": "2"}, "b": {"x": "1", "y": "3"}, "c": [{"x": "1", "y": "2"}]}
