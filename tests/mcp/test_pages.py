"""Answers of the size that was asked for."""

from __future__ import annotations

import json

import pytest

from tritonobs.extensions.mcp.pages import cut, short, size

CAUSES = [{"check": f"c{at}", "sentence": "s" * 300, "evidence": [{"what": "w" * 40}] * 4} for at in range(7)]
VERDICT = {"status": "wrong", "causes": CAUSES, "links": {f"l{at}": "u" * 60 for at in range(9)}}
LISTS = ("causes", "links")


def _pages(value, lists, most):
    first = cut(value, lists, most=most, page=1)
    return [cut(value, lists, most=most, page=page) for page in range(1, first.pages + 1)]


@pytest.mark.parametrize("most", [700, 1500, 4000, 100_000])
def test_pages_together_are_the_whole(most):
    """No item is lost or shown twice, none is cut, and no page is larger than was asked for."""
    pages = _pages(VERDICT, LISTS, most)

    assert [one for page in pages for one in page.data.get("causes", [])] == CAUSES
    assert {key: one for page in pages for key, one in page.data.get("links", {}).items()} == VERDICT["links"]
    assert max(size(page.data) for page in pages) <= most
    assert not any(page.shortened for page in pages)


def test_a_page_says_what_is_elsewhere():
    """By list; one that is whole has no entry."""
    first = cut(VERDICT, LISTS, most=1500, page=1)
    whole = cut(VERDICT, LISTS, most=100_000, page=1)

    assert first.left_out == {"causes": 7 - len(first.data["causes"]), "links": 9}
    assert (whole.left_out, whole.pages) == ({}, 1)


def test_a_page_behind_the_last_is_the_last():
    """An agent that counts on is not refused."""
    assert cut(VERDICT, LISTS, most=1500, page=900) == _pages(VERDICT, LISTS, 1500)[-1]


def test_what_is_too_large_for_a_page_is_cut_and_says_so():
    """A table of three thousand rows, a name of a megabyte, each alone."""
    for value in ([{"rows": [[at, "x" * 10] for at in range(3000)]}], [{"name": "n" * 1_000_000}]):
        (page,) = _pages(value, (), 2000)

        assert size(page.data) <= 2000
        assert page.shortened


def test_pairs_are_not_torn():
    """A time and its value stay together, however little room there is."""
    page = cut({"points": [[1_780_000_000.0, 1.5]] * 50}, (), most=100, page=1)

    assert page.shortened
    assert all(len(point) == 2 for point in page.data["points"])


def test_numbers_have_six_digits_but_times_are_whole():
    """Seventeen digits of a mean say nothing, and take half of the room."""
    value = {
        "mean": 0.123456789,
        "at": 1_780_000_000.4567,
        "none": None,
        "empty": "",
        "zero": 0.0,
        "no": False,
    }

    assert short(value) == {"mean": 0.123457, "at": 1_780_000_000.457, "zero": 0.0, "no": False}


def test_sizes_are_bytes():
    """A Chinese name takes three bytes a character."""
    assert size("检测") == len(json.dumps("检测", ensure_ascii=False).encode()) == 8
