"""Which servers the commands ask: the fleet file, and the addresses that options or the file give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tritonobs.cli.values import WrongFile, asked_plan, plan_cluster, running_fleet, running_url
from tritonobs.extensions.mcp.ask import Unanswered
from tritonobs.plan.rules import SCRAPES_PER_WINDOW
from tritonobs.units import format_duration

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The servers of one moment; "" where no one names them. `named` are the options that name Prometheus.

    `scrape_seconds` is how often they are scraped, 0 where no fleet file says it.
    """

    fleet: Path | None
    prometheus: str
    cluster: str
    alertmanager: str
    receiver: str
    named: tuple[str, ...]
    scrape_seconds: float = 0.0

    @property
    def asked(self) -> tuple[str, ...]:
        """Options of a command that asks Prometheus alone."""
        return (f"--prometheus={self.prometheus}", *((f"--cluster={self.cluster}",) if self.cluster else ()))

    def window(self, least_seconds: float) -> str:
        """A window with enough scrapes for a rate, even where one is missed."""
        return format_duration(max(least_seconds, SCRAPES_PER_WINDOW * self.scrape_seconds))

    def file(self) -> str:
        """The fleet file.

        Raises:
            Unanswered: there is none.
        """
        if self.fleet is None:
            raise Unanswered("this needs a fleet file; start the server as: tritonobs mcp fleet.yaml")
        return str(self.fleet)


class Fleet:
    """The fleet file that was named, or that of the stack running here; it is read again when it changes."""

    def __init__(self, path: Path | None, *, prometheus: str = "", cluster: str = "") -> None:
        # Commands may run in another folder.
        self._path = path.absolute() if path else None
        self._prometheus, self._cluster = prometheus, cluster
        self._read: tuple[object, Plan] | None = None

    def plan(self) -> Plan | None:
        """What the file means now; None without one.

        Raises:
            WrongFile: it is not valid.
        """
        path = self.path()
        if path is None:
            return None
        status = path.stat()
        state = (path, status.st_ino, status.st_mtime_ns, status.st_size)
        if self._read is None or self._read[0] != state:
            self._read = (state, asked_plan(path))
        return self._read[1]

    def path(self) -> Path | None:
        """Where the file is. A Prometheus that was named is not that of the stack here."""
        if self._path or self._prometheus:
            return self._path
        running = running_fleet()
        return running.absolute() if running else None

    def where(self) -> Where:
        """Which servers to ask now.

        Raises:
            Unanswered: the fleet file is not valid, or cannot be read.
        """
        try:
            plan = self.plan()
        except OSError as error:
            raise Unanswered(f"the fleet file cannot be read: {error.strerror}") from None
        except WrongFile as error:
            raise Unanswered(f"the fleet file is not valid: {error.message}") from None
        default = running_url("prometheus", "http://127.0.0.1:9090")
        named = (
            *((f"--prometheus={self._prometheus}",) if self._prometheus else ()),
            *((f"--cluster={self._cluster}",) if self._cluster else ()),
        )
        return Where(
            fleet=self.path(),
            prometheus=self._prometheus or (plan.addresses.prometheus_url if plan else default),
            cluster=self._cluster or (plan_cluster(plan) if plan else ""),
            alertmanager=plan.addresses.alertmanager_url if plan else running_url("alertmanager", ""),
            receiver=plan.traces.receiver_url if plan else running_url("serve", "http://127.0.0.1:9900"),
            named=named,
            scrape_seconds=float(plan.prometheus.scrape_interval_seconds) if plan else 0.0,
        )
