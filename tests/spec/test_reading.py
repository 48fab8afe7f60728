"""Text that is no YAML, or too much of it."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
import yaml

from tritonobs.spec.load import read_text
from tritonobs.spec.reading import MAX_DEPTH, append_entry, decode, read_document, set_field

NO_FLEET = [
    pytest.param("", "1:1: the file is empty", id="nothing at all"),
    pytest.param("# only a comment\n", "2:1: the file is empty", id="only comments"),
    pytest.param(
        "a: [1,\nb: 2",
        "3:1: not YAML: did not find expected ',' or ']', while parsing a flow sequence "
        "that begins in line 1 (a bracket is not closed)",
        id="an open bracket",
    ),
    pytest.param(
        "a: b: c",
        "1:5: not YAML: mapping values are not allowed in this context "
        "(a text that contains a colon and a space needs quotes)",
        id="a colon in a text",
    ),
    pytest.param(
        "a:\n\tb: 1",
        "2:1: not YAML: found character that cannot start any token "
        "(indent with spaces, not tabs; a text that begins with @, ` or % needs quotes)",
        id="a tab",
    ),
    pytest.param(
        "a: 'x",
        "1:6: not YAML: found unexpected end of stream (a quote is not closed)",
        id="an open quote",
    ),
    pytest.param(
        "a:\n  b: 1\n c: 2",
        "3:2: not YAML: did not find expected key, while parsing a block mapping that begins in line 1 "
        "(the lines of one mapping begin in the same column)",
        id="a crooked indent",
    ),
    pytest.param("a: \x01", "1:4: not YAML: control characters are not allowed", id="a control character"),
    pytest.param("a: *b", "1:4: the alias *b has no anchor &b before it", id="an alias of nothing"),
    pytest.param("&a [*a]", "1:5: the alias *a stands inside its own anchor", id="an alias of itself"),
    pytest.param(
        "[" * 900,
        f"1:{MAX_DEPTH + 1}: more than {MAX_DEPTH} levels of nesting",
        id="nesting",
    ),
]


@pytest.mark.parametrize(("text", "complaint"), NO_FLEET)
def test_text_that_is_no_document_is_one_finding(text: str, complaint: str) -> None:
    """The place, the parser's reason, and a hint for the usual cause."""
    assert [str(finding) for finding in read_text(text, "f.yaml").findings] == [f"f.yaml:{complaint}"]


@pytest.mark.parametrize("level", ["[", "- ", "{a: ", "? "])
def test_nesting_that_would_end_the_stack_is_one_finding(level: str) -> None:
    """A newer libyaml refuses a thousand levels itself, at another place; what is said is the same."""
    (finding,) = read_text(level * 100_000, "f.yaml").findings

    assert finding.message == f"more than {MAX_DEPTH} levels of nesting"
    assert finding.place.line == 1
    assert finding.place.column > MAX_DEPTH


def test_aliases_that_multiply_are_refused_before_they_do() -> None:
    """A billion laughs cost what the file has bytes, not what it would expand to."""
    lines = ["a: &a0 [x, x]"]
    lines += [f"b{level}: &a{level + 1} [*a{level}, *a{level}, *a{level}]" for level in range(60)]

    (finding,) = read_document("\n".join(lines), "f.yaml").findings

    assert finding.message == "more than 200000 values with every alias written out"


ODD_PARTS = [
    pytest.param(
        "a: 1\n---\nb: 2",
        "f.yaml:2:1: a second document begins here; allowed is one document a file",
        id="two documents",
    ),
    pytest.param(
        "a: !!python/object:os.system {}",
        'f.yaml:1:4: found the tag "tag:yaml.org,2002:python/object:os.system"; '
        "allowed are plain values without tags",
        id="a tag",
    ),
    pytest.param(
        "? [1, 2]\n: x",
        "f.yaml:1:3: found a list or a mapping as a name; allowed is text",
        id="a list as a name",
    ),
    pytest.param(
        "a: {<<: [3]}",
        "f.yaml:1:5: `<<` merges what is not a mapping; allowed are aliases of mappings",
        id="a merge of no mapping",
    ),
]


@pytest.mark.parametrize(("text", "complaint"), ODD_PARTS)
def test_an_odd_part_is_a_finding_and_the_rest_is_read(text: str, complaint: str) -> None:
    """YAML that nobody needs is refused by name."""
    source = read_document(text, "f.yaml")

    assert [str(finding) for finding in source.findings] == [complaint]
    assert isinstance(source.value(), dict)


def test_scalars_stay_text_and_only_null_is_told_apart() -> None:
    """Quoted or plain, a value is what its author typed."""
    source = read_document("a: 1.10\nb: '~'\nc: ~\nd: no\ne: 0x10\n", "f.yaml")

    assert source.value() == {"a": "1.10", "b": "~", "c": None, "d": "no", "e": "0x10"}


def test_places_count_characters_after_other_scripts() -> None:
    """Columns are those an editor shows, also behind letters of several bytes."""
    source = read_document("模型: {é: 1}", "f.yaml")

    assert str(source.place(("模型", "é"))) == "f.yaml:1:9"
    assert str(source.place(("模型", "é"), key=True)) == "f.yaml:1:6"
    assert str(source.place(("模型", "missing", "deeper"))) == "f.yaml:1:5"


def test_bytes_that_are_no_text_are_a_finding_at_the_first_of_them() -> None:
    """A file in another encoding names the place where it shows."""
    text, findings = decode(b"a: 1\nb: \xc3\xa9\xff", "f.yaml")

    assert (text, [str(one) for one in findings]) == ("", ["f.yaml:2:5: byte 0xff is not UTF-8 text"])


def test_a_byte_order_mark_is_no_problem() -> None:
    """Some editors write one."""
    text, findings = decode(b"\xef\xbb\xbfa: 1", "f.yaml")

    assert (text, findings) == ("a: 1", [])


def test_the_slow_loader_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PyYAML without libyaml gives the same values at the same places."""
    text = "a: &x [1, {b: 'c'}]\nd: *x\n"
    fast = read_document(text, "f.yaml")
    monkeypatch.setattr("tritonobs.spec.reading._Loader", yaml.BaseLoader)

    slow = read_document(text, "f.yaml")

    assert slow == fast


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
