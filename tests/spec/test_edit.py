"""One field changes, and nothing else: checked line by line."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tritonobs.spec.edit import append_entry, set_field

EXAMPLE = (Path(__file__).parents[2] / "examples" / "fleet.yaml").read_text()


def _changes(before: str, after: str) -> list[str]:
    """The lines taken out (-) and put in (+)."""
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[:2] in ("- ", "+ ")]


SET = [
    pytest.param(
        "m:\n  a: 1   # why\n",
        ["-   a: 1   # why\n", "+   a: 9   # why\n"],
        id="a value with a comment behind it",
    ),
    pytest.param('m:\n  a: "1"\n', ['-   a: "1"\n', "+   a: 9\n"], id="a quoted value"),
    pytest.param("m:\n  a:\n  b: 1\n", ["-   a:\n", "+   a: 9\n"], id="a value forgotten"),
    pytest.param("m: {b: 1, a: 2}\n", ["- m: {b: 1, a: 2}\n", "+ m: {b: 1, a: 9}\n"], id="a flow mapping"),
    pytest.param("m: {b: 1}\n", ["- m: {b: 1}\n", "+ m: {b: 1, a: 9}\n"], id="a new field in a flow mapping"),
    pytest.param("m: {}\n", ["- m: {}\n", "+ m: {a: 9}\n"], id="the first field of a flow mapping"),
    pytest.param("m:\n", ["- m:\n", "+ m: {a: 9}\n"], id="a mapping with nothing to say"),
    pytest.param("m: ~ # c\n", ["- m: ~ # c\n", "+ m: {a: 9} # c\n"], id="a null"),
    pytest.param(
        "m:\n  # about b\n  b: 1  # why\n\n# about n\nn: 2\n",
        ["+   a: 9\n"],
        id="a new field stands behind the last one, before comments about what follows",
    ),
    pytest.param("m:\n  b:\n    - 1\n    - 2\n", ["+   a: 9\n"], id="behind a list"),
    pytest.param("m:\n  b: |\n    text\n\nn: 1\n", ["+   a: 9\n"], id="behind a text block"),
    pytest.param("m:\r\n  b: 1\r\nn: 2\r\n", ["+   a: 9\r\n"], id="with the line endings of the file"),
    pytest.param(
        "m:\n  b: 1", ["-   b: 1", "+   b: 1\n", "+   a: 9"], id="at the end of a file without newline"
    ),
    pytest.param("模: é\nm:\n  b: 模\n", ["+   a: 9\n"], id="among letters of several bytes"),
    pytest.param(
        "s: &s {a: 1}\nm:\n  <<: *s\n  b: 2\n",
        ["+   a: 9\n"],
        id="beside a merge, which the own field wins over",
    ),
]


@pytest.mark.parametrize(("text", "changes"), SET)
def test_setting_a_field_changes_its_line_alone(text: str, changes: list[str]) -> None:
    """Every other line is the very same, comments and blank lines included."""
    assert _changes(text, set_field(text, ("m",), "a", "9")) == changes


def test_mappings_on_the_way_are_made() -> None:
    """As far as they are missing; what is there is added to."""
    assert _changes("m:\n  b: 1\n", set_field("m:\n  b: 1\n", ("m", "t", "u"), "a", "9")) == [
        "+   t: {u: {a: 9}}\n"
    ]
    text = "m:\n  t: {c: 1}\n"
    assert set_field(text, ("m", "t"), "a", "9") == "m:\n  t: {c: 1, a: 9}\n"


APPEND = [
    pytest.param("m:\n  b: 1\n", ["+   l: [{q: 9}]\n"], id="a new list"),
    pytest.param("m:\n  l: [{q: 1}]\n", ["-   l: [{q: 1}]\n", "+   l: [{q: 1}, {q: 9}]\n"], id="a flow list"),
    pytest.param("m:\n  l: []\n", ["-   l: []\n", "+   l: [{q: 9}]\n"], id="an empty flow list"),
    pytest.param(
        "m:\n  l:\n    - {q: 1}  # first\n    # second\n    - q: 2\n      r: 3\n\n  b: 1\n",
        ["+     - {q: 9}\n"],
        id="a block list keeps its indent",
    ),
    pytest.param("m:\n  l:\n  - q: 1\n  b: 1\n", ["+   - {q: 9}\n"], id="a block list without an indent"),
    pytest.param("m:\n", ["- m:\n", "+ m: {l: [{q: 9}]}\n"], id="a mapping with nothing to say"),
]


@pytest.mark.parametrize(("text", "changes"), APPEND)
def test_appending_adds_one_entry(text: str, changes: list[str]) -> None:
    """At the end of the list, in the list's own style."""
    assert _changes(text, append_entry(text, ("m",), "l", "{q: 9}")) == changes


SHARED = [
    pytest.param(
        "s: &s {a: 1}\nm: *s\n",
        "m comes from an anchor elsewhere in the file; write it out to change it alone",
        id="an alias",
    ),
    pytest.param(
        "m: &s {a: 1}\nt: *s\n",
        "m.a cannot be changed alone; an anchor or an unusual layout is in the way",
        id="an anchor that others use",
    ),
]


@pytest.mark.parametrize(("text", "complaint"), SHARED)
def test_a_shared_place_is_refused(text: str, complaint: str) -> None:
    """Nobody changes the limits of two models by naming one."""
    with pytest.raises(ValueError, match="^" + complaint + "$"):
        set_field(text, ("m",), "a", "9")


def test_the_example_changes_by_one_line() -> None:
    """The file people start from, with all its comments."""
    assert _changes(EXAMPLE, set_field(EXAMPLE, ("models", "inspect"), "qps_limit", "12")) == [
        "-     qps_limit: 8\n",
        "+     qps_limit: 12\n",
    ]
