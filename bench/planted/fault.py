"""What triage must say of a planted fault."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a person who knows the fault would accept as the first cause.

    `checks` are the headings that are right, `place` what the cause's place begins with (any of them),
    `advice` what one of the next steps must say (a pattern), `sentence` what the sentence must say.
    """

    checks: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]
    advice: str
    sentence: str = ""
    dated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What triage said first."""

    check: str
    place: tuple[str, ...]
    sentence: str
    since: float | None
    steps: tuple[str, ...] = field(default=())


LATEST_SECONDS = 15.0


def score(truth: Truth, named: Named | None, began: float) -> dict[str, bool]:
    """Which of the four are right: headline, place, since (within 15 s), advice."""
    if named is None:
        return dict.fromkeys(("headline", "place", "since", "advice"), False)
    off = None if named.since is None else named.since - began
    return {
        "headline": named.check in truth.checks and bool(re.search(truth.sentence, named.sentence)),
        "place": any(named.place[: len(place)] == place for place in truth.places),
        "since": not truth.dated or (off is not None and abs(off) <= LATEST_SECONDS),
        "advice": any(re.search(truth.advice, step, re.IGNORECASE) for step in named.steps),
    }
