"""What vmalert tells when it is restarted, and when an agent is back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from support.shards_seen import NONE, SEEN, Seen, live, minded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from support.beside import Row
    from support.victoria_rig import Victoria

_DOWN_SECONDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """What a restart of vmalert made of the alerts that were firing for Alertmanager."""

    firing: int
    again: frozenset[Row]
    """Of them those that Alertmanager told once more, as begun or as over."""
    forgotten: frozenset[Row]
    """Of them those that do not fire after it, or began at another moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """All that was seen."""

    seen: Seen
    later: Mapping[Row, float]
    """Of alerts that began in the calm, and in both, the seconds by which vmalert told them later."""
    restart: Restart
    back: frozenset[Row]
    """What was told after the agent was back, and by one Prometheus was not."""


def lived(
    rig: Victoria,
    *,
    calm: float,
    over: float,
    stopped: float,
    back: float,
    restart: float,
    tolerance: float,
    patience: float,
    expected: Collection[str] = (),
    ignored: str = NONE,
) -> Lived:
    """A calm, a restart of vmalert, an overflow, an agent that is stopped, and its return.

    `expected` and `ignored` are as in `live`.
    """
    began = time.time()
    found: list[tuple[Mapping[Row, float], Restart]] = []
    seen = live(
        rig, calm=calm, over=over, stopped=stopped, tolerance=tolerance, patience=patience,
        expected=expected, ignored=ignored,
        after_calm=lambda: found.append((_later(rig, began), _restarted(rig, restart))),
    )  # fmt: skip
    rig.start_again(seen.part)
    time.sleep(back)
    late = time.time() - back / 3
    told = minded(rig.alerts("whole", late), ignored) - frozenset(rig.alerts("one", began, SEEN))
    ((later, restarted),) = found
    return Lived(seen=seen, later=later, restart=restarted, back=told)


def _later(rig: Victoria, since: float) -> dict[Row, float]:
    one, whole = (rig.alerts(name, since) for name in ("one", "whole"))
    return {row: whole[row] - at for row, at in one.items() if row in whole}


def _restarted(rig: Victoria, seconds: float) -> Restart:
    """Kill vmalert, start it, and wait."""
    before, told = rig.on_call(), len(rig.notified())
    rig.stop("vmalert")
    time.sleep(_DOWN_SECONDS)
    rig.start_again("vmalert")
    time.sleep(seconds)
    after = rig.on_call()
    return Restart(
        firing=len(before),
        again=frozenset(rig.notified()[told:]) & frozenset(before),
        forgotten=frozenset(row for row, began in before.items() if after.get(row) != began),
    )
