"""Starting, watching and stopping, with real processes that are small."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tritonobs import programs
from tritonobs.errors import StackError
from tritonobs.extensions.lab.stack import native, processes
from tritonobs.extensions.lab.stack.processes import Folders, Service

WEB = """import http.server, sys
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
PARENT = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); " + WEB
)
DIES = "import sys; print('no such table: models'); sys.exit(7)"


def _service(name: str, code: str) -> Service:
    (port,) = programs.free_ports(1)
    url = f"http://127.0.0.1:{port}"
    argv = (sys.executable, "-c", code, str(port))
    return Service(name=name, argv=argv, url=url, ready_url=url, ports=(port,))


@pytest.fixture(name="folders")
def _folders(tmp_path: Path):
    folders = Folders(root=tmp_path)
    yield folders
    native.down(folders)


def test_up_returns_when_every_part_answers(folders):
    """Each part is announced once, when it answers."""
    ready = []

    parts = native.up([_service("one", WEB), _service("two", WEB)], folders, ready.append)

    assert sorted(ready) == ["one", "two"]
    assert all(native.is_ready(part) for part in parts)


def test_down_ends_parts_and_their_children(folders):
    """A process that a part started goes with it."""
    (part,) = native.up([_service("parent", PARENT)], folders, lambda _: None)
    family = [part.process(), *part.process().children()]

    stopped = native.down(folders)

    assert [each.name for each in stopped] == ["parent"]
    assert len(family) == 2
    assert not any(process.is_running() for process in family)
    assert not folders.state_file.exists()


def test_down_ends_what_a_part_that_died_left_behind(folders):
    """Workers live on when their server is killed; they hold memory and ports."""
    (part,) = native.up([_service("parent", PARENT)], folders, lambda _: None)
    server = part.process()
    (child,) = server.children()
    server.kill()
    server.wait()

    native.down(folders)

    assert not child.is_running()


def test_up_reports_a_part_that_dies_and_leaves_nothing(folders):
    """The error has the exit status and the last line of the log; the other part is gone too."""
    services = [_service("web", WEB), _service("broken", DIES)]

    with pytest.raises(StackError) as caught:
        native.up(services, folders, lambda _: None)

    assert "broken ended with exit status 7" in str(caught.value)
    assert "no such table: models" in str(caught.value)
    assert native.known(folders) == ()
    assert not _listening(services[0].ports[0])


def test_up_refuses_taken_ports_and_names_their_owner(folders):
    """Every taken port is in one message, with the program and its pid."""
    wanted = [_service("one", WEB), _service("two", WEB)]
    owners = [subprocess.Popen(each.argv, stderr=subprocess.DEVNULL) for each in wanted]
    _wait(lambda: all(_listening(each.ports[0]) for each in wanted))

    with pytest.raises(StackError) as caught:
        native.up(wanted, folders, lambda _: None)

    for each, owner in zip(wanted, owners, strict=True):
        assert f"{each.name} :{each.ports[0]}: port {each.ports[0]} is used by" in str(caught.value)
        assert f"(pid {owner.pid})" in str(caught.value)
        owner.kill()
        owner.wait()


def test_up_refuses_a_second_stack_in_the_same_folder(folders):
    """The first stack goes on."""
    (part,) = native.up([_service("one", WEB)], folders, lambda _: None)

    with pytest.raises(StackError, match="tritonobs down"):
        native.up([_service("two", WEB)], folders, lambda _: None)

    assert part.process() is not None


def test_watch_reports_a_part_killed_later(folders):
    """A crash while running is an error with the log, not silence."""
    (part,) = native.up([_service("one", WEB)], folders, lambda _: None)
    threading.Timer(0.3, part.process().kill).start()

    with pytest.raises(StackError, match="one ended with exit status -9"):
        native.watch([part])


def test_a_part_started_again_leaves_the_log_of_the_one_before(folders):
    """What ended it stays to be read; the state file knows the new process."""
    service = _service("one", "print('hello', flush=True)\n" + WEB)
    (part,) = native.up([service], folders, lambda _: None)
    part.process().kill()

    again = native.start_again(service, folders)

    assert native.known(folders) == (again,)
    assert again.pid != part.pid
    assert Path(again.log).read_text().count("hello") == 2


def test_down_never_touches_a_process_that_took_over_a_pid(folders):
    """A pid in the state file with another start time is somebody else's."""
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (part,) = native.up([_service("one", WEB)], folders, lambda _: None)
    (row,) = json.loads(folders.state_file.read_text())
    folders.state_file.write_text(json.dumps([row | {"pid": stranger.pid, "started": row["started"] - 1}]))

    stopped = native.down(folders)

    assert stopped == ()
    assert stranger.poll() is None
    assert part.process() is None  # what carries the folder's name is ours, whatever the note says
    stranger.kill()
    stranger.wait()


def test_known_says_what_to_do_about_a_damaged_state_file(folders):
    """No traceback for a half-written file."""
    folders.state_file.write_text('[{"name": "tri')

    with pytest.raises(StackError, match="is damaged"):
        native.known(folders)
    folders.state_file.unlink()


def _listening(port: int) -> bool:
    return processes._is_taken(port)


def _wait(condition) -> None:
    for _ in range(100):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it did not happen within 5 s")
