"""Servers by the names that people gave them; Prometheus' label `instance` is an address."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.triage.cause import Cause, Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tritonobs.triage.snapshot import Snapshot


def called(snapshot: Snapshot) -> dict[str, str]:
    """Names by addresses: of the fleet file, and the labels of scrape targets."""
    labelled = {
        target.labels[names.INSTANCE]: name
        for target in snapshot.targets
        if names.INSTANCE in target.labels
        and (name := target.labels.get(names.REPLICA) or target.labels.get(names.POD))
    }
    return {**snapshot.called, **labelled}


def by_name(cause: Cause, known: Mapping[str, str]) -> Cause:
    """The same cause with names where it says addresses. What an error says, and URLs, stay as they are."""
    # What is asked Prometheus, the trend, keeps its labels.
    if not known:
        return cause
    address = re.compile(
        r"(?<![\w./:@-])(?:https?://)?("
        + "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        + r")(?![\w/.-]*[\w/-])(?!: (?:connect|read|write|i/o)\b)"
    )

    def text(said: str) -> str:
        return address.sub(lambda found: known[found[1]], said)

    return replace(
        cause,
        place=tuple(known.get(part, part) for part in cause.place),
        sentence=text(cause.sentence),
        evidence=tuple(Evidence(text(one.what), one.before, one.now, one.unit) for one in cause.evidence),
        next_steps=tuple(map(text, cause.next_steps)),
    )
