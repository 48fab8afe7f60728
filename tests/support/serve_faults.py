"""Everything that is done to a running `tritonobs serve`, by the part it is done to: a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.evil import Evil
from support.serve_causes import (
    HALF_OPEN,
    connections,
    disk_full,
    evil_at,
    instead,
    log_is_a_folder,
    log_locked,
    many,
    poison,
    robot_fails,
    written,
)
from tritonobs.extensions.lab.robot import Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from support.serve_rig import Rig


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeFault:
    """A fault, what a page of serve's shows while it lasts, and whether it needs root."""

    part: str
    what: str
    cause: Callable[[Rig], AbstractContextManager[object]]
    shown: str
    page: str = "/metrics"
    root: bool = False
    short: bool = False
    """Whether it is played in the short form, too."""

    def __str__(self) -> str:
        return f"{self.part}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of a fault; `lost` and `twice` are alerts of that time."""

    sent: int
    lost: tuple[str, ...]
    twice: tuple[str, ...]
    shown: bool
    answers: bool
    """Whether /healthz answered during the fault."""
    recovers: bool
    follows: bool
    """Whether a change of the fleet file was in force afterwards."""

    @property
    def good(self) -> bool:
        """Nothing lost or sent twice, shown, and over when it was over."""
        return (
            not self.lost and not self.twice and all((self.shown, self.answers, self.recovers, self.follows))
        )


def play(rig: Rig, fault: ServeFault) -> Seen:
    """Cause it, tell three alerts while it lasts, end it, and see what is left of it."""
    before = f"before{len(rig.sent)}"
    rig.tell(before).join()
    models = [f"during{len(rig.sent)}-{number}" for number in range(3)]
    with fault.cause(rig):
        caller = rig.tell(*models)
        shown = rig.wait(lambda: rig.shows(fault.shown, fault.page))
        answers = rig.get("/healthz", 5.0) == "ok\n"
    recovers = rig.wait(rig.well)
    caller.join()
    named = rig.named()
    wanted = (before, *models)
    return Seen(
        sent=len(wanted),
        lost=tuple(one for one in wanted if one not in named),
        twice=tuple(one for one in wanted if named.count(one) > 1),
        shown=shown,
        answers=answers,
        recovers=recovers,
        follows=rig.follows(),
    )


_INVALID = r"^tritonobs_config_valid 0\.0$"
_LOG_FAILS = r"^task limits log: failing since "
_NO_SOURCE = r'^tritonobs_limit_source_up{source="kubernetes"} 0\.0$'
_ROBOT_FAILS = r"^tritonobs_delivery_errors_total{.*} [1-9]"
_NO_EVIDENCE = r'^tritonobs_evidence_queries_total{outcome="failed"} [1-9]'
_DROPPED = r"^tritonobs_connections_dropped_total{.*} [1-9]"

FAULTS = (
    *(
        ServeFault(part="fleet file", what=what, cause=cause, shown=_INVALID, short=short)
        for what, cause, short in (
            ("is gone", lambda rig: instead(rig, lambda _: None), False),
            ("is not YAML", lambda rig: instead(rig, written("fleet: [")), False),
            ("is a folder", lambda rig: instead(rig, lambda path: path.mkdir()), False),
            ("is a pipe", lambda rig: instead(rig, os.mkfifo), True),
            (
                "is a device without an end",
                lambda rig: instead(rig, lambda p: p.symlink_to("/dev/zero")),
                True,
            ),
        )
    ),
    ServeFault(
        part="log of limits",
        what="is a folder",
        cause=log_is_a_folder,
        shown=_LOG_FAILS,
        page="/readyz",
        short=True,
    ),
    ServeFault(
        part="log of limits",
        what="is on a full disk",
        cause=disk_full,
        shown=_LOG_FAILS,
        page="/readyz",
        root=True,
    ),
    ServeFault(
        part="log of limits",
        what="is locked by a stopped command",
        cause=log_locked,
        shown=_LOG_FAILS,
        page="/readyz",
        short=True,
    ),
    *(
        ServeFault(
            part="API server",
            what=evil.value,
            cause=lambda rig, evil=evil: evil_at(rig, "api", evil),
            shown=_NO_SOURCE,
            short=evil is Evil.DEEP,
        )
        for evil in Evil
    ),
    *(
        ServeFault(
            part="Prometheus",
            what=evil.value,
            cause=lambda rig, evil=evil: evil_at(rig, "prometheus", evil),
            shown=_NO_EVIDENCE,
            short=evil is Evil.DRIPS_BODY,
        )
        for evil in Evil
    ),
    *(
        ServeFault(
            part="robot",
            what=evil.value,
            cause=lambda rig, evil=evil: evil_at(rig, "robot", evil),
            shown=_ROBOT_FAILS,
            short=evil is Evil.DRIPS_HEADERS,
        )
        for evil in Evil
    ),
    *(
        ServeFault(
            part="robot",
            what=fault.value,
            cause=lambda rig, fault=fault: robot_fails(rig, fault),
            shown=_ROBOT_FAILS,
        )
        for fault in (Fault.STATUS_500, Fault.TIMEOUT, Fault.BUSY, Fault.UNKNOWN)
    ),
    *(
        ServeFault(
            part="connections",
            what=f"{HALF_OPEN:,} {what}",
            cause=lambda rig, said=said: connections(rig, said),
            shown=_DROPPED,
            short=not said,
        )
        for what, said in (
            ("that say nothing", b""),
            ("with half a header", b"POST /alertmanager/dingtalk/oncall HTTP/1.1\r\nHost: 127"),
            (
                "with half a body",
                (
                    b"POST /alertmanager/dingtalk/oncall HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
                ),
            ),
        )
    ),
    ServeFault(
        part="a call",
        what="with two alerts that cannot be shown and five that can",
        cause=poison,
        shown=r"^tritonobs_delivery_unshown_alerts_total{.*} [1-9]",
        short=True,
    ),
    ServeFault(
        part="a call",
        what="of 3,000 alerts",
        cause=many,
        shown=r'^tritonobs_delivery_alerts_total{.*"firing"} [3-9][0-9]{3}',
    ),
)
