"""Text from outside is shown, never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonobs.delivery.view import plain, web_address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("inspect v1", "inspect v1", id="plain"),
        pytest.param("a\n# heading\n- item", "a # heading - item", id="newlines end no line"),
        pytest.param("[click](http://evil)", "[click] (http://evil)", id="link"),
        pytest.param("![x](http://evil/x.png)", "![x] (http://evil/x.png)", id="image"),
        pytest.param(
            "**bold** `code`", "\u2217\u2217bold\u2217\u2217 \u02cbcode\u02cb", id="emphasis and code"
        ),
        pytest.param("<font color=red>x</font>", "\u2039font color=red\u203ax\u2039/font\u203a", id="HTML"),
        pytest.param(
            "a\u202eb\u2066c\u0000d",
            "a\u29f5u202eb\u29f5u2066c\u29f5u0000d",
            id="direction and control characters",
        ),
        pytest.param("缺陷检测 👩‍🔧", "缺陷检测 👩‍🔧", id="Chinese and joined emoji"),
        pytest.param("# big", "\uff03 big", id="a heading"),
        pytest.param("---", "\u2011\u2011\u2011", id="a rule"),
        pytest.param("- x", "\u2011 x", id="a list"),
        pytest.param("1. x", "1\u2024 x", id="a numbered list"),
        pytest.param("-5 is -5, a#1 is a#1", "-5 is -5, a#1 is a#1", id="numbers and signs within a text"),
        pytest.param("x" * 50, "x" * 9 + "…", id="cut"),
        pytest.param("\ud800", "\u29f5ud800", id="half a surrogate"),
    ],
)
def test_text_is_made_plain(text: str, shown: str) -> None:
    """One line, at most so long, no markup."""
    assert plain(text, 10 if text.startswith("xx") else 100) == shown


@given(st.text(max_size=400), st.integers(2, 80))
def test_any_text_is_one_short_harmless_line(text: str, most: int) -> None:
    """Whatever it is made of."""
    shown = plain(text, most)
    assert len(shown) <= most
    assert not set(shown) & set("*`<>|~\\\n\r\u202e\u2067")
    assert "](" not in shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("https://g/d/x?var-model=a&b=c#d", "https://g/d/x?var-model=a&b=c#d", id="kept"),
        pytest.param("http://g/a b(c)", "http://g/a%20b%28c%29", id="cannot end the link"),
        pytest.param("http://g/模型", "http://g/%E6%A8%A1%E5%9E%8B", id="Chinese"),
        pytest.param("http://[::1]:3000/d/[x]", "http://[::1]:3000/d/%5Bx%5D", id="a host of IPv6"),
        pytest.param("javascript:alert(1)", "", id="script"),
        pytest.param("dingtalk://x", "", id="another application"),
        pytest.param("http://[::1", "", id="malformed"),
        pytest.param("/relative", "", id="no host"),
    ],
)
def test_address_is_encoded_or_left_out(text: str, address: str) -> None:
    """Only the web's addresses become links."""
    assert web_address(text) == address
