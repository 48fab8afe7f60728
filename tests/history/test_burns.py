"""What a backtest repeats of the rules is what they say."""

from __future__ import annotations

from tritonobs.extensions.history import burns
from tritonobs.render.rules import mixin_knobs
from tritonobs.units import parse_duration


def test_bad_requests_are_looked_for_as_long_as_the_rules_do() -> None:
    """A burn to which nothing bad has come for this long is over."""
    knobs = mixin_knobs({})

    windows = [float(parse_duration(knobs[name])) for name in ("sloFreshWindow", "slowFreshWindow")]
    assert windows == [burns._FRESH_SECONDS, burns._SLOW_FRESH_SECONDS]
