"""Text that is no YAML, or too much of it."""

from __future__ import annotations

import pytest
import yaml

from tritonobs.spec.load import read_text
from tritonobs.spec.reading import MAX_DEPTH, decode, read_document

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
