"""What explains that something is wrong: a cause, and the numbers that say so. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Unit = Literal["seconds", "ratio", "per_second", "count", "megapixels", "bytes", "boxes", "timestamp", ""]
Area = Literal["accelerators", "delivery", "prometheus", "serve", "traffic", ""]
"""Parts of a fleet, and of what watches it, that are no model and no server."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A number, before and now; None where there was none to see."""

    what: str
    before: float | None
    now: float | None
    unit: Unit = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One explanation of what is wrong.

    `check` is the id of the check, its page and its heading; `judge` sets it. `place` is the model, its
    version and the path to a stage, as far as they apply; `("", "")` is the fleet, and `area` says which part
    of it. `confidence` is 0 to 1. `trend` names the numbers whose change says since when: a key of the
    snapshot's trends and the labels of the series. `asked` names the questions the evidence came from. `ends`
    says that the change is the end of that series, `falls` that it is one downwards.
    """

    check: str = ""
    place: tuple[str, ...]
    area: Area = ""
    sentence: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()
    next_steps: tuple[str, ...] = ()
    trend: tuple[str, Mapping[str, str]] | None = None
    asked: tuple[str, ...] = ()
    since: float | None = None
    ends: bool = False
    falls: bool = False

    @property
    def model(self) -> str:
        """The model it is about, or "" for the fleet."""
        return self.place[0] if self.place else ""
