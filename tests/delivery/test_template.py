"""A user's template is tried before it is used, and can reach nothing."""

from __future__ import annotations

import pytest

from tritonobs.delivery.template import try_template

GOOD = "{{ headline }} {% for a in alerts %}{{ a.name }} {{ a.subject }} {{ a.links }}{% endfor %}"


def test_good_template_is_taken() -> None:
    """It showed every alert of the sample."""
    try_template(GOOD)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{% for a in alerts %}", "line 1", id="no Jinja2"),
        pytest.param("{{ headlin }}", "'headlin' is undefined", id="a word misspelt"),
        pytest.param("{{ alerts[0].labelz }}", "has no attribute", id="a field misspelt"),
        pytest.param("{{ headline }}", "name and subject of every alert", id="an alert left out"),
        pytest.param("{{ alerts.__class__.__mro__ }}", "unsafe", id="a way out of the sandbox"),
        pytest.param("{% include '/etc/passwd' %}", "no loader", id="another file"),
        pytest.param("{{ 1 // 0 }}", "ZeroDivisionError", id="fails"),
        pytest.param("{{ alerts[0].labels.update(x=1) }}", "unsafe|Security", id="changes an alert"),
    ],
)
def test_bad_template_is_refused_with_a_reason(text: str, words: str) -> None:
    """At load, not at three in the morning."""
    with pytest.raises(ValueError, match=words):
        try_template(text)
