"""PromQL with hostile names in it."""

from __future__ import annotations

import pytest

from tritonobs.timings import promql


@pytest.mark.parametrize(
    ("values", "matcher"),
    [
        pytest.param([], "", id="nothing chosen matches everything"),
        pytest.param(["inspect"], 'model="inspect"', id="one name is compared, not matched"),
        pytest.param(['a"b\\c\nd'], 'model="a\\"b\\\\c\\nd"', id="quotes, backslashes, newlines"),
        pytest.param(["b.c", "a|b"], 'model=~"a\\\\|b|b\\\\.c"', id="no name is a pattern"),
    ],
)
def test_one_of_matches_exactly_these_names(values: list[str], matcher: str) -> None:
    """A name is data: it cannot end the string or match another model."""
    assert promql.one_of("model", values) == matcher


def test_expressions_are_what_prometheus_reads() -> None:
    """The one spelling of a quantile."""
    chosen = promql.selector(promql.one_of("model", ["m"]), "")

    assert promql.quantile(0.99, "x_seconds", chosen, 90, ("model",)) == (
        'histogram_quantile(0.99, sum by (model, le) (rate(x_seconds_bucket{model="m"}[1m30s])))'
    )
