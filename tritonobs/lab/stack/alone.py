"""One tritonserver alone, with any model repository: for tests, benchmarks and soaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tritonobs.lab.stack import native, processes, triton
from tritonobs.lab.stack.ports import LOOPBACK, free_ports
from tritonobs.lab.stack.processes import Part
from tritonobs.lab.stack.services import Folders, Service


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneTriton:
    """A running server: where it answers, its process and its log."""

    part: Part
    http_url: str
    metrics_url: str

    def log(self) -> str:
        """What it and its models wrote until now."""
        return Path(self.part.log).read_text(encoding="utf-8", errors="replace")

    def require_alive(self) -> None:
        """Make sure that it still runs.

        Raises:
            StackError: it died; the text has its exit status and the last lines of its log.
        """
        native.require_alive([self.part])


@contextmanager
def lone_triton(
    repository: Path, root: Path, *, extra: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Iterator[LoneTriton]:
    """Serve `repository` on free ports while the block runs, everything it writes below `root`.

    `extra` are more flags of tritonserver, `variables` more of its environment.

    Raises:
        StackError: the server is missing, died, or was not ready in time.
    """
    http_port, metrics_port = free_ports(2)
    http_url = f"http://{LOOPBACK}:{http_port}"
    folders = Folders(root=root)
    service = Service(
        name="triton",
        argv=triton.command(
            repository=repository,
            backends=triton.make_backend_folder(folders.backends),
            http_port=http_port,
            metrics_port=metrics_port,
            extra=extra,
        ),
        env=triton.environment(dict(variables or {})),
        url=http_url,
        ready_url=f"{http_url}/v2/health/ready",
        ports=(http_port, metrics_port),
    )
    parts = native.up([service], folders, lambda _: None)
    try:
        yield LoneTriton(
            part=parts[0], http_url=http_url, metrics_url=f"http://{LOOPBACK}:{metrics_port}/metrics"
        )
    finally:
        processes.stop(parts, owner=folders.owner)
        triton.free_shared_memory(folders.backends)
        folders.state_file.unlink(missing_ok=True)
