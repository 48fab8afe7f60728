"""Outputs that cannot be written, folders that are gone, terminals without letters: a sentence, exit 3."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

SAVED = Path(__file__).parent / "transcripts" / "healthy.json"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egpj.exe"


def _run(*arguments: str, folder: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    options: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    program = [sys.executable, "-m", "tritonobs", *arguments]
    return subprocess.run(program, cwd=folder, check=False, **options)


@pytest.mark.needs("triage")
@pytest.mark.parametrize(
    ("target", "said"),
    [
        pytest.param(
            "/proc/saved.json", "/proc/saved.json: cannot be written", id="a place that takes no files"
        ),
        pytest.param("/dev/full", "/dev/full: cannot be written: No space left on device", id="a full disk"),
        pytest.param(
            "missing/saved.json", "missing/saved.json: cannot be written: No such file", id="no folder"
        ),
    ],
)
def test_a_snapshot_that_cannot_be_kept_is_a_sentence(target: str, said: str, tmp_path: Path) -> None:
    """What was seen is not lost in silence."""
    done = _run("triage", "--load", str(SAVED), "--save", target, folder=tmp_path)

    assert done.returncode == 3
    assert said in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_a_build_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """It is no finding about the fleet file, whose status is 1."""
    fleet = Path(__file__).parents[2] / "examples" / "fleet.yaml"
    done = _run("build", str(fleet), "-o", "/proc/rules", folder=tmp_path)

    said = "tritonobs: /proc/rules/prometheus/prometheus.yml: cannot be written: No such file or directory"
    assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (3, said)


@pytest.mark.parametrize("command", [("schema",), ("--help",), ("triage", "--load", str(SAVED))])
def test_a_full_disk_behind_stdout_is_a_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    """Redirected into a file on a full disk: not a word of Python."""
    with Path("/dev/full").open("wb") as full:
        done = _run(*command, folder=tmp_path, stdout=full)

    assert (done.returncode, done.stderr.decode()) == (3, "tritonobs: the output: No space left on device\n")


@pytest.mark.parametrize(
    "command", [("schema",), ("--help",), ("drill", "--list"), ("triage", "--load", str(SAVED))]
)
def test_a_reader_who_left_is_no_error(command: tuple[str, ...], tmp_path: Path) -> None:
    """`tritonobs schema | head -1` ends as every program does there."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = _run(*command, folder=tmp_path, stdout=write)
    finally:
        os.close(write)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", [("status",), ("down",), ("up",), ("validate", "fleet.yaml")])
def test_a_removed_working_folder_is_a_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    """The shell stands in a folder that somebody deleted."""
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (sys.executable, "-m", "tritonobs", *command)
    done = subprocess.run(
        ["/bin/sh", "-c", f'cd {gone} && rmdir {gone} && exec "$@"', "-", *program],
        capture_output=True,
        check=False,
    )

    assert done.returncode in {2, 3}
    assert b"Traceback" not in done.stderr
    assert b"No such file or directory" in done.stderr or b"does not exist" in done.stderr


def test_names_in_any_script_are_printed_on_any_terminal(tmp_path: Path) -> None:
    """Under LC_ALL=C, too: as UTF-8, and nothing fails."""
    (tmp_path / "fleet.yaml").write_text(
        'fleet: f\nreplicas: [{name: a, url: "http://h"}]\nmodels: {缺陷🔍: {qps_limit: x}}\n'
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    environment = {**plain, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}

    done = _run("validate", "fleet.yaml", folder=tmp_path, env=environment)

    assert done.returncode == 1, done.stderr
    assert 'models."缺陷🔍".qps_limit: found "x"'.encode() in done.stdout


def test_a_fleet_file_cannot_drive_the_terminal(tmp_path: Path) -> None:
    """Names with escape sequences and controls of direction are shown, not obeyed."""
    name = json.dumps(HOSTILE)
    (tmp_path / "fleet.yaml").write_text(
        f'fleet: f\nreplicas: [{{name: a, url: "http://h"}}]\nmodels: {{{name}: {{qps_limit: x}}}}\n'
    )

    done = _run("validate", "fleet.yaml", folder=tmp_path)
    listed = _run("validate", "fleet.yaml", "--format", "json", folder=tmp_path)

    for text in (done.stdout.decode(), listed.stdout.decode()):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert [finding["line"] for finding in json.loads(listed.stdout)] == [3]


@contextmanager
def _answering(text: str) -> Iterator[str]:
    """The address of a server that answers every request with this."""

    class Always(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 (the base class names it)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
            """Nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Always)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(name="hostile_server")
def _hostile_server() -> Iterator[str]:
    with _answering(HOSTILE) as url:
        yield url


@pytest.mark.needs("traces")
def test_a_page_of_slow_requests_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Who has the old one open reads it to its end."""
    page, kept = tmp_path / "slow.html", tmp_path / "kept.html"
    page.write_text("old")
    kept.hardlink_to(page)

    with _answering('{"models": ["m"], "requests": []}') as url:
        command = ("traces", "slow", "--model", "m", "--receiver", url, "--html")
        done = _run(*command, "slow.html", folder=tmp_path)
        full = _run(*command, "/dev/full", folder=tmp_path)

    assert done.returncode == 1
    assert (kept.read_text(), "Slowest traced requests to m" in page.read_text()) == ("old", True)
    assert (full.returncode, b"Traceback" in full.stderr) == (3, False)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("triage", "--prometheus", "{}"), id="triage"),
        pytest.param(("stages", "--prometheus", "{}"), id="stages"),
        pytest.param(("discover", "{}"), id="discover"),
        pytest.param(("top", "--once", "--prometheus", "{}"), id="top from Prometheus"),
        pytest.param(("top", "--once", "--metrics", "{}/metrics"), id="top from pages"),
        pytest.param(("limits", "suggest", "--model", "m", "--prometheus", "{}"), id="limits suggest"),
    ],
)
def test_a_server_cannot_drive_the_terminal(
    command: tuple[str, ...], hostile_server: str, tmp_path: Path
) -> None:
    """Whatever it answers, also where the answer is none and stands in the error."""
    done = _run(*(word.replace("{}", hostile_server) for word in command), folder=tmp_path)

    text = (done.stdout + done.stderr).decode()
    assert done.returncode in {0, 1, 3}
    assert "Traceback" not in text
    assert all(letter.isprintable() or letter == "\n" for letter in text)


@pytest.mark.needs("triage", "lab")
@pytest.mark.parametrize(
    "text", [pytest.param("[" * 200_000, id="deep lists"), pytest.param('{"a":' * 200_000, id="deep objects")]
)
def test_deeply_nested_json_is_a_sentence(text: str, tmp_path: Path) -> None:
    """The stack of the parser ends, the command does not."""
    (tmp_path / "saved.json").write_text(text)
    state = tmp_path / ".tritonobs"
    state.mkdir()
    (state / "stack.json").write_text(text)

    loaded = _run("triage", "--load", "saved.json", folder=tmp_path)
    status = _run("status", folder=tmp_path)
    down = _run("down", folder=tmp_path)

    assert loaded.returncode == 2
    assert b"is not JSON, so not a snapshot" in loaded.stderr
    assert status.returncode == 3
    assert b"is damaged" in status.stderr
    assert (down.returncode, down.stdout) == (0, b"nothing was running\n")
    assert not (state / "stack.json").exists()


@pytest.mark.needs("lab")
@pytest.mark.parametrize("text", ["null", "3", "[3]", '[{"name": 1}]', "{", "\ud800", '[{"pid": "x"}]'])
def test_a_damaged_state_folder_is_a_sentence(text: str, tmp_path: Path) -> None:
    """Half written, foreign, of another version: `status` and `up` say so, `down` puts it right."""
    state = tmp_path / ".tritonobs"
    state.mkdir()
    (state / "stack.json").write_bytes(text.encode("utf-8", "surrogatepass"))

    for command in ("status", "up"):
        done = _run(command, folder=tmp_path)
        assert done.returncode == 3, done.stderr
        assert b"is damaged" in done.stderr
        assert b"Traceback" not in done.stderr
    assert _run("down", folder=tmp_path).returncode == 0


@pytest.mark.needs("lab")
def test_a_foreign_folder_is_not_taken_for_a_state_folder(tmp_path: Path) -> None:
    """A stack replaces folders called `models` and `data`: not those of somebody else."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine").write_text("precious")

    done = _run("up", "--drills", "--state", ".", folder=tmp_path)

    assert done.returncode == 3
    assert b"holds files of something else; name an empty folder with --state" in done.stderr
    assert (tmp_path / "models" / "mine").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


@pytest.mark.needs("lab")
@pytest.mark.parametrize("state", ["/proc/state", "/dev/null", "fleet.yaml"])
def test_a_state_folder_that_cannot_be_made_is_a_sentence(state: str, tmp_path: Path) -> None:
    """Read-only places and files."""
    shutil.copy(SAVED, tmp_path / "fleet.yaml")

    done = _run("up", "--state", state, folder=tmp_path)

    assert done.returncode in {2, 3}
    assert b"Traceback" not in done.stderr
    assert done.stderr.strip()
