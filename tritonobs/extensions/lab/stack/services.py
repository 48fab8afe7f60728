"""Which processes make a stack, with their arguments; pure data, made from the plan.

`docker-compose.yml` starts the same parts with the same flags.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tritonobs import programs, stage
from tritonobs.errors import StackError
from tritonobs.extensions.lab import faults
from tritonobs.extensions.lab.stack import triton
from tritonobs.extensions.lab.stack.ports import LOOPBACK, port_of

if TYPE_CHECKING:
    from tritonobs.extensions.lab.stack.local import PracticeRobot
    from tritonobs.plan.fleet import Plan


_CACHE_BYTES = 64 * 2**20
_TRACE_RATE = 1
"""A practice stack gets a few requests a second, whose models take milliseconds: all of them cost nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One process: how to start it, where it answers, and the page that says it is ready."""

    name: str
    argv: tuple[str, ...]
    url: str
    ready_url: str
    env: Mapping[str, str] | None = None
    ports: tuple[int, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where a stack keeps what it makes; all below one state folder."""

    root: Path

    @property
    def built(self) -> Path:
        """What `render` wrote."""
        return self.root / "built"

    @property
    def data(self) -> Path:
        """What Prometheus and Alertmanager store."""
        return self.root / "data"

    @property
    def backends(self) -> Path:
        """Triton's backends, laid out for this Python."""
        return self.root / "backends"

    @property
    def logs(self) -> Path:
        """One log a part."""
        return self.root / "logs"

    @property
    def state_file(self) -> Path:
        """Which processes run, for `status` and `down`."""
        return self.root / "stack.json"

    @property
    def lock_file(self) -> Path:
        """Held while a stack is being started; its presence says that the folder is ours."""
        return self.root / "stack.lock"

    @property
    def owner(self) -> Path:
        """The name that every process of the stack carries."""
        return self.root.resolve()

    @property
    def faults_file(self) -> Path:
        """Which faults the models have now, on a stack for rehearsals."""
        return self.root / "faults.json"

    @property
    def models(self) -> Path:
        """A copy of the model repository that rehearsals may change."""
        return self.root / "models"

    @property
    def drills_file(self) -> Path:
        """What a stack for rehearsals was started with."""
        return self.root / "drills.json"


def stack_services(
    plan: Plan, fleet_file: Path, models: Path, folders: Folders, *, drills: bool = False
) -> tuple[Service, ...]:
    """Every process of the stack that runs `plan`; with `drills` its models take faults.

    Raises:
        StackError: a program is missing, or the plan has not exactly one replica (a machine runs one).
    """
    if len(plan.replicas) != 1:
        raise StackError(
            f"a local stack runs one Triton server, the fleet file names {len(plan.replicas)} replicas"
        )
    return (
        _triton(plan, models, folders, drills=drills),
        _serve(plan, fleet_file),
        _alertmanager(plan, folders),
        _prometheus(plan, folders),
    )


def require_programs() -> None:
    """Make sure that all a stack starts is here, before anything is written.

    Raises:
        StackError: something is missing; the text has the command that installs it.
    """
    triton.library_folders()
    for program in ("prometheus", "alertmanager"):
        programs.find(program)


def robot_service(robot: PracticeRobot) -> Service:
    """The local robot, as a process of the stack."""
    return Service(
        name="robot",
        argv=(
            *(sys.executable, "-m", "tritonobs.extensions.lab.robot.process"),
            *(str(robot.webhook_file), str(robot.secret_file), robot.chat),
        ),
        url=f"{robot.url}/messages",
        ready_url=f"{robot.url}/messages",
        ports=(port_of(robot.url),),
    )


def _triton(plan: Plan, models: Path, folders: Folders, *, drills: bool) -> Service:
    replica = plan.replicas[0]
    http_port, metrics_port = port_of(replica.http_url), port_of(replica.metrics_url)
    backends = triton.make_backend_folder(folders.backends)
    return Service(
        name="triton",
        argv=triton.command(
            repository=models,
            backends=backends,
            http_port=http_port,
            metrics_port=metrics_port,
            extra=(
                *triton.trace_flags(
                    receiver=plan.traces.receiver_url, replica=replica.name, rate=_TRACE_RATE
                ),
                *(triton.cache_flags(_CACHE_BYTES) if drills else ()),
            ),
        ),
        env=triton.environment(
            {
                stage.SCRAPE_INTERVAL_VARIABLE: str(plan.prometheus.scrape_interval_seconds),
                # Empty: a shell that exports it must not give faults to an ordinary stack.
                faults.VARIABLE: str(folders.faults_file) if drills else "",
            }
        ),
        url=replica.http_url,
        ready_url=f"{replica.http_url}/v2/health/ready",
        ports=(http_port, metrics_port),
    )


def _serve(plan: Plan, fleet_file: Path) -> Service:
    url = plan.addresses.serve_url
    return Service(
        name="serve",
        argv=(
            *(sys.executable, "-m", "tritonobs", "serve", str(fleet_file)),
            *("--host", LOOPBACK, "--port", str(port_of(url))),
        ),
        url=url,
        ready_url=f"{url}/readyz",
        ports=(port_of(url),),
    )


def _alertmanager(plan: Plan, folders: Folders) -> Service:
    url = plan.addresses.alertmanager_url
    return Service(
        name="alertmanager",
        argv=(
            str(programs.find("alertmanager")),
            f"--config.file={folders.built / 'alertmanager' / 'alertmanager.yml'}",
            f"--storage.path={folders.data / 'alertmanager'}",
            f"--web.listen-address={LOOPBACK}:{port_of(url)}",
            f"--web.external-url={plan.addresses.alertmanager_link}",
            # One Alertmanager alone: an empty address switches the cluster's own port off.
            "--cluster.listen-address=",
        ),
        url=url,
        ready_url=f"{url}/-/ready",
        ports=(port_of(url),),
    )


def _prometheus(plan: Plan, folders: Folders) -> Service:
    url = plan.addresses.prometheus_url
    return Service(
        name="prometheus",
        argv=(
            str(programs.find("prometheus")),
            f"--config.file={folders.built / 'prometheus' / 'prometheus.yml'}",
            f"--storage.tsdb.path={folders.data / 'prometheus'}",
            f"--storage.tsdb.retention.time={plan.prometheus.retention_days}d",
            f"--web.listen-address={LOOPBACK}:{port_of(url)}",
            f"--web.external-url={plan.addresses.prometheus_link}",
            "--web.enable-lifecycle",
            # A point in a heatmap of traced requests names its trace.
            "--enable-feature=exemplar-storage",
        ),
        url=url,
        ready_url=f"{url}/-/ready",
        ports=(port_of(url),),
    )
