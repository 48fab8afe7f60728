"""How to start the tritonserver that the `nvidia-pytriton` wheel ships (2.51.0, release 24.10, CPU only).

The wheel holds the server, its libraries and the Python backend apart; the server wants a backend folder
with the backend and the stub of the running Python together, the stub owned by the user it runs as.

A server that is killed leaves the shared memory of its Python models, 23 MB for each worker.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tritonobs import assets, programs
from tritonobs.errors import StackError
from tritonobs.extensions.lab.stack.ports import LOOPBACK

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
    stub = server / "python_backend_stubs" / programs.PYTHON_SERIES / "triton_python_backend_stub"
    if not stub.exists():
        have = ", ".join(sorted(path.name for path in stub.parent.parent.iterdir()))
        raise StackError(
            f"the Triton wheel has no Python backend for Python {programs.PYTHON_SERIES}, only {have}"
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
    libpython = programs.find_libpython()
    if libpython is None:
        raise StackError(
            f"{programs.LIBPYTHON} is missing and Triton's Python models need it; install it: tritonobs tools"
        )
    return (wheel_folder() / "nvidia_pytriton.libs", libpython)


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
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


def command(
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
