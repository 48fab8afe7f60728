"""A server that is killed leaves shared memory behind, which is memory; whoever stops the stack frees it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support.traced_models import add_noop
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.processes import wait_for
from tritonobs.extensions.lab.stack.services import make_backend_folder, shared_memory_prefix

pytestmark = pytest.mark.e2e
NOT_OURS = Path("/dev/shm/tritonobs-test-of-somebody-else")  # noqa: S108 (where Linux keeps it)


def regions(folder: Path) -> list[str]:
    """What servers with this backend folder have in shared memory."""
    return [name for name in os.listdir("/dev/shm") if name.startswith(shared_memory_prefix(folder))]  # noqa: PTH208, S108


def test_what_a_killed_server_leaves_is_freed_when_it_is_stopped(tmp_path: Path) -> None:
    """Its worker's region, and nothing of others."""
    add_noop(tmp_path / "models", "noop")
    NOT_OURS.touch()
    try:
        with lone_triton(tmp_path / "models", tmp_path / "server") as server:
            os.kill(server.part.pid, signal.SIGKILL)
            wait_for(lambda: not server.part.process() or None, "the server to end", 30)
            assert regions(tmp_path / "server" / "backends") != []

        assert regions(tmp_path / "server" / "backends") == []
        assert NOT_OURS.exists()
    finally:
        NOT_OURS.unlink()


def test_what_a_killed_stack_left_is_freed_when_the_next_one_starts(tmp_path: Path) -> None:
    """Also where nobody stopped the one before."""
    left = Path(f"/dev/shm/{shared_memory_prefix(tmp_path / 'backends')}left")  # noqa: S108
    left.touch()

    make_backend_folder(tmp_path / "backends")

    assert not left.exists()
