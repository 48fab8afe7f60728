"""Nothing of disk or network runs in the event loop: what hangs would hang health, deliveries and limits."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import requests

from support.serve_rig import JSON, Rig

if TYPE_CHECKING:
    from pathlib import Path

# Begins with the first SIGUSR2; modules that are imported late are no work of the daemon's.
_WATCH = """
import os, signal, sys, threading

WATCHED = ("open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "os.truncate",
           "glob.glob", "tempfile.mkstemp", "fcntl.flock", "subprocess.Popen", "time.sleep",
           "socket.connect", "socket.getaddrinfo", "socket.gethostbyname")
seen = os.open({seen!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def watch(event, arguments):
    if event not in WATCHED or threading.current_thread() is not threading.main_thread():
        return
    frame, where = sys._getframe(1), []
    while frame:
        where.append(frame.f_code.co_filename)
        frame = frame.f_back
    if not any("importlib" in name for name in where):
        os.write(seen, ("%s %r in %s\\n" % (event, arguments[:1], where[:6])).encode())

signal.signal(signal.SIGUSR2, lambda *_: sys.addaudithook(watch))
"""


def test_the_event_loop_touches_neither_disk_nor_network(tmp_path: Path) -> None:
    """While it delivers, passes on, follows files and annotations, writes its log, and answers every page."""
    seen, patch = tmp_path / "seen", tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(_WATCH.format(seen=str(seen)))
    path = os.pathsep.join((str(patch), os.environ.get("PYTHONPATH", "")))
    with Rig(folder=tmp_path, env={"PYTHONPATH": path}) as rig:
        os.kill(rig.serve.pid, signal.SIGUSR2)
        rig.tell("first").join()
        # The robot's double refuses it, but not before it was asked.
        assert rig.post(rig.alert("second"), path="/alertmanager/webhook/pager") == 503
        assert rig.follows()
        rig.cluster.annotate("shop", "inspect", {"tritonobs.dev/max-qps": "77"})
        assert rig.wait(lambda: '"77"' in (tmp_path / "fleet.limits.jsonl").read_text())
        for page in (
            "metrics",
            "readyz",
            "healthz",
            "sd/triton",
            "runbooks/TritonServerDown",
            "checks/delivery",
        ):
            assert requests.get(f"{rig.serve.url}/{page}", headers=JSON, timeout=10).ok, page
        assert rig.named() == ["first"]
    assert seen.read_text() == ""
