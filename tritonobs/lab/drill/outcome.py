"""The result of a drill."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened, in seconds since the fault was caused."""

    seconds: float
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAlert:
    """A promised alert: when it fired, and how long after the fault was undone it resolved; None: never."""

    name: str
    fired_after: float | None
    resolved_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was seen of a drill, compared with what was promised.

    `cause` is the check that triage named first ("" for nothing wrong, "?" for no verdict),
    `sentence` its words, `named_after` when it first was the promised one. `problem` is what kept the drill
    from being done at all.
    """

    drill: str
    alerts: tuple[SeenAlert, ...]
    promised: str
    cause: str
    sentence: str
    named_after: float | None
    moments: tuple[Moment, ...]
    problem: str = ""

    @property
    def broken(self) -> tuple[str, ...]:
        """Every promise that was not kept, in words."""
        said = [self.problem] if self.problem else []
        for alert in self.alerts:
            if alert.fired_after is None:
                said.append(f"{alert.name} did not fire")
            elif alert.resolved_after is None:
                said.append(f"{alert.name} did not resolve")
        if self.named_after is None and not self.problem:
            promised = self.promised or "nothing wrong"
            said.append(f"triage says {self.cause or 'nothing wrong'}, not {promised}")
        return tuple(said)

    @property
    def kept(self) -> bool:
        """Whether all was as promised."""
        return not self.broken
