"""Which processes make a stack, with their arguments, made from the plan; and how to start its tritonserver.

`docker-compose.yml` starts the same parts with the same flags. The tritonserver is that of the wheel
`nvidia-pytriton` (2.51.0, release 24.10, CPU only). The wheel holds the server, its libraries and the Python
backend apart; the server wants a backend folder with the backend and the stub of the running Python together,
the stub owned by the user it runs as. A server that is killed leaves the shared memory of its Python models,
23 MB for each worker.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tritonobs import assets, programs, stage
from tritonobs.errors import StackError
from tritonobs.extensions.lab import faults
from tritonobs.extensions.lab.stack import packages
from tritonobs.extensions.lab.stack.processes import Folders, Service, port_of
from tritonobs.plan.fleet import Plan
from tritonobs.programs import LOOPBACK

_FOLDER: Final = Path("/dev/shm")  # noqa: S108 (where Linux keeps it)


def wheel_folder() -> Path:
    """The `site-packages` folder that holds the wheel.

    Raises:
        StackError: the wheel is not installed; the text holds the command that installs it.
    """
    spec = importlib.util.find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise StackError("no Triton server here; install it with: pip install 'tritonobs[stack]'")
    return Path(spec.origin).parent.parent


def make_backend_folder(folder: Path) -> Path:
    """Lay out `<folder>/python` as tritonserver wants it, afresh; returns `folder`.

    What a server with this folder left in shared memory when it was killed is freed.

    Raises:
        StackError: the wheel has no stub for this Python.
    """
    server = wheel_folder() / "pytriton" / "tritonserver"
    stub = server / "python_backend_stubs" / packages.PYTHON_SERIES / "triton_python_backend_stub"
    if not stub.exists():
        have = ", ".join(sorted(path.name for path in stub.parent.parent.iterdir()))
        raise StackError(
            f"the Triton wheel has no Python backend for Python {packages.PYTHON_SERIES}, only {have}"
        )
    shutil.rmtree(folder, ignore_errors=True)
    free_shared_memory(folder)
    target = folder / "python"
    target.mkdir(parents=True)
    for source in (server / "backends" / "python").iterdir():
        if source.is_file():
            shutil.copy(source, target)
    shutil.copy(stub, target)
    return folder


def library_folders() -> tuple[Path, ...]:
    """Where the server and the stub find their shared libraries.

    Raises:
        StackError: this Python has no shared library; the text has the command that installs it.
    """
    libpython = packages.find_libpython()
    if libpython is None:
        raise StackError(
            f"{packages.LIBPYTHON} is missing and Triton's Python models need it; install it: tritonobs tools"
        )
    return (wheel_folder() / "nvidia_pytriton.libs", libpython)


def triton_environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """The server's environment: this Python's packages for its models, its libraries, no GPU look-up."""
    paths = [str(wheel_folder()), str(assets.package_parent())]
    return {
        **os.environ,
        # The embedded Python finds its home through the first `python3` on PATH.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "PYTHONPATH": os.pathsep.join(paths),
        "LD_LIBRARY_PATH": os.pathsep.join(str(folder) for folder in library_folders()),
        "TRITON_SERVER_CPU_ONLY": "1",
        "PYTHONUNBUFFERED": "1",
        # onnxruntime 1.32 otherwise stores a device id and events for Microsoft in ~/.cache.
        "ORT_DISABLE_TELEMETRY": "1",
        **(extra or {}),
    }


def cache_flags(size_bytes: int) -> tuple[str, ...]:
    """More flags of the server: models whose config asks for it get a response cache of this size."""
    caches = wheel_folder() / "pytriton" / "tritonserver" / "caches"
    return (f"--cache-directory={caches}", f"--cache-config=local,size={size_bytes}")


def trace_flags(*, receiver: str, replica: str, rate: int) -> tuple[str, ...]:
    """More flags of the server: every `rate`th request is traced to the receiver, under the replica's name.

    Level and rate can be changed while the server runs; the mode and the address cannot.
    """
    opentelemetry = "--trace-config=opentelemetry"
    return (
        "--trace-config=mode=opentelemetry",
        "--trace-config=level=TIMESTAMPS",
        f"--trace-config=rate={rate}",
        f"{opentelemetry},url={receiver}/v1/traces",
        f"{opentelemetry},resource=service.instance.id={replica}",
    )


def triton_command(
    *, repository: Path, backends: Path, http_port: int, metrics_port: int, extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """The server's command line: HTTP and metrics on loopback, models loaded and unloaded through its API."""
    return (
        str(wheel_folder() / "pytriton" / "tritonserver" / "bin" / "tritonserver"),
        f"--model-repository={repository}",
        f"--backend-directory={backends}",
        f"--backend-config=python,shm-region-prefix-name={shared_memory_prefix(backends)}",
        "--model-control-mode=explicit",
        "--load-model=*",
        f"--http-address={LOOPBACK}",
        f"--http-port={http_port}",
        "--allow-grpc=false",
        f"--metrics-address={LOOPBACK}",
        f"--metrics-port={metrics_port}",
        "--exit-timeout-secs=5",
        *extra,
    )


def shared_memory_prefix(backends: Path) -> str:
    """What the names of all regions of the server with this backend folder begin with."""
    return f"tritonobs_{hashlib.sha256(str(backends.absolute()).encode()).hexdigest()[:16]}_"


def free_shared_memory(backends: Path) -> None:
    """Remove the regions of servers with this backend folder; none of them runs any more."""
    for region in _FOLDER.glob(f"{shared_memory_prefix(backends)}*"):
        with suppress(OSError):
            region.unlink()


_CACHE_BYTES = 64 * 2**20
_TRACE_RATE = 1
"""A practice stack gets a few requests a second, whose models take milliseconds: all of them cost nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeRobot:
    """The local robot: its chat, its address, and the files that hold its webhook and secret."""

    chat: str
    url: str
    webhook_file: Path
    secret_file: Path


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
    library_folders()
    for program in ("prometheus", "alertmanager"):
        programs.find(program)


def robot_service(robot: PracticeRobot) -> Service:
    """The local robot, as a process of the stack."""
    return Service(
        name="robot",
        argv=(
            *(sys.executable, "-m", "tritonobs.extensions.lab.robot"),
            *(str(robot.webhook_file), str(robot.secret_file), robot.chat),
        ),
        url=f"{robot.url}/messages",
        ready_url=f"{robot.url}/messages",
        ports=(port_of(robot.url),),
    )


def _triton(plan: Plan, models: Path, folders: Folders, *, drills: bool) -> Service:
    replica = plan.replicas[0]
    http_port, metrics_port = port_of(replica.http_url), port_of(replica.metrics_url)
    backends = make_backend_folder(folders.backends)
    return Service(
        name="triton",
        argv=triton_command(
            repository=models,
            backends=backends,
            http_port=http_port,
            metrics_port=metrics_port,
            extra=(
                *trace_flags(receiver=plan.traces.receiver_url, replica=replica.name, rate=_TRACE_RATE),
                *(cache_flags(_CACHE_BYTES) if drills else ()),
            ),
        ),
        env=triton_environment(
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
