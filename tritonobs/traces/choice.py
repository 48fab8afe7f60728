"""The rate of each model of a server where none is given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from tritonobs.traces.primes import prime_at_least, prime_at_most

# The P99 of 1,000 samples is a time between the 98.1st and the 99.9th percentile (docs/traces.md).
WANTED_SAMPLES: Final = 1000
WINDOW_SECONDS: Final = 300.0
MOST_TRACES_A_SECOND: Final = 20.0
"""Of a server. Triton 24.10 ended with signal 11 at 30 to 40 on a busy machine; see docs/traces.md."""
_SLACK = 1.25


def choose(requests_a_second: Mapping[str, float]) -> dict[str, int]:
    """A rate (every Nth request) for each model of one server, by its requests a second.

    Each gets WANTED_SAMPLES in WINDOW_SECONDS, or all its requests where they are fewer. A server whose
    models would make more than MOST_TRACES_A_SECOND together traces all of them that much less often.
    """
    wanted = WANTED_SAMPLES / WINDOW_SECONDS
    shares = {model: max(1.0, qps / wanted) for model, qps in requests_a_second.items()}
    # Down to a prime: enough samples. Up to one where that would be too many traces.
    rates = {model: prime_at_most(math.floor(share)) for model, share in shares.items()}
    crowd = traces_a_second(requests_a_second, rates) / MOST_TRACES_A_SECOND
    if crowd > 1.0:
        # Anew, from the exact shares: primes below them may make too many traces where these do not.
        crowd = max(1.0, traces_a_second(requests_a_second, shares) / MOST_TRACES_A_SECOND)
        rates = {model: prime_at_least(math.ceil(share * crowd)) for model, share in shares.items()}
    return rates


def worth_changing(rate: int, wanted: int) -> bool:
    """Whether traffic has changed by so much that another rate is worth the step in the weights."""
    return rate != wanted and not 1 / _SLACK <= wanted / rate <= _SLACK


def traces_a_second(requests_a_second: Mapping[str, float], rates: Mapping[str, float]) -> float:
    """How many traces these rates make of this traffic."""
    return sum(qps / rates[model] for model, qps in requests_a_second.items())
