"""`load`, `stages`, `triage`, `top`, `discover`: options, one call, an exit code."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import click
import pytest
from click.testing import CliRunner

from support.serving import serving
from tritonobs.cli.values import prometheus_option
from tritonobs.errors import Unreachable
from tritonobs.timings.top import TopView

if TYPE_CHECKING:
    from conftest import Run


@pytest.fixture(name="nobody")
def _nobody() -> str:
    """An address at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("load", "--url", "{}", "--duration", "1s"), id="load"),
        pytest.param(("stages", "--prometheus", "{}"), id="stages"),
        pytest.param(("triage", "--prometheus", "{}"), id="triage"),
        pytest.param(("top", "--once", "--prometheus", "{}"), id="top from Prometheus"),
        pytest.param(("discover", "{}"), id="discover"),
        pytest.param(("limits", "suggest", "--model", "m", "--prometheus", "{}"), id="limits suggest"),
        pytest.param(
            ("limits", "backtest", "--model", "m", "--qps", "1", "--prometheus", "{}"), id="limits backtest"
        ),
    ],
)
def test_nobody_to_ask_is_exit_3_and_one_line(run: Run, nobody: str, command: tuple[str, ...]) -> None:
    """Could not look: the address, the reason, no traceback, nothing on stdout."""
    done = run(*(word.format(nobody) for word in command))

    assert (done.returncode, done.stdout) == (3, "")
    assert nobody in done.stderr
    assert "connection refused" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.needs("discover")
def test_discover_names_every_server_that_does_not_answer(run: Run, nobody: str) -> None:
    """Of a fleet of forty, not one each time; and no draft that lacks some."""
    done = run("discover", f"{nobody}/a", f"{nobody}/b", f"{nobody}/c")

    assert (done.returncode, done.stdout) == (3, "")
    first, *others = done.stderr.strip().splitlines()
    assert first == "tritonobs: 3 of 3 servers did not answer, nothing is written:"
    assert [line.strip() for line in others] == [
        f"GET {nobody}/{name}/v2/models/stats: connection refused" for name in "abc"
    ]


def test_a_channel_of_alertmanager_cannot_be_tried_from_here(run: Run, tmp_path: Path) -> None:
    """The message says why, instead of denying what stands in the file."""
    (tmp_path / "fleet.yaml").write_text(
        'fleet: a\nreplicas: [{name: a, url: "http://a:8000"}]\nmodels: {m: {}}\n'
        "notify: {slack: {vision: {webhook_file: s}}}\n"
    )

    done = run("notify", "test", "vision", "--fleet", str(tmp_path / "fleet.yaml"))

    assert done.returncode == 3
    assert "no robot 'vision'; it has none; slack/vision is sent by Alertmanager itself" in done.stderr


@pytest.mark.parametrize(
    ("words", "env", "hinted"),
    [
        pytest.param([], {}, True, id="the default"),
        pytest.param(["--prometheus", "http://127.0.0.1:9090"], {}, False, id="the option"),
        pytest.param([], {"TRITONOBS_PROMETHEUS": "http://127.0.0.1:9090"}, False, id="the environment"),
        pytest.param(["--other"], {}, False, id="another server"),
    ],
)
def test_a_default_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, words: list[str], env: dict[str, str], *, hinted: bool
) -> None:
    """A command that takes no fleet file asks loopback; its error says how to name another Prometheus."""
    monkeypatch.setattr("tritonobs.cli.values.running_url", lambda _, otherwise: otherwise)

    @click.command
    @click.option("--other", is_flag=True)
    @prometheus_option
    def ask(*, prometheus_url: str, other: bool) -> None:
        raise Unreachable(f"GET {'http://am:9093' if other else prometheus_url}/x: connection refused")

    error = CliRunner().invoke(ask, words, env={"TRITONOBS_PROMETHEUS": None, **env}).exception

    assert isinstance(error, Unreachable)
    hint = "; name another with --prometheus or TRITONOBS_PROMETHEUS"
    assert str(error).endswith(f"connection refused{hint if hinted else ''}")


@pytest.mark.needs("triage")
def test_triage_takes_the_option_of_earlier_releases(run: Run, nobody: str) -> None:
    """Scripts name Alertmanager, of which nothing is asked."""
    done = run("triage", "--prometheus", nobody, "--alertmanager", "http://alertmanager.invalid:9093")

    assert (done.returncode, done.stderr) == (3, run("triage", "--prometheus", nobody).stderr)
    assert "--alertmanager" not in run("triage", "--help").stdout


def test_top_of_a_page_nobody_serves_says_so(run: Run, nobody: str) -> None:
    """The view names what it does not see, and ends with 3."""
    done = run("top", "--once", "--interval", "1s", "--metrics", f"{nobody}/metrics")

    assert done.returncode == 3
    assert "unavailable data: " in done.stdout
    assert "connection refused" in done.stdout


def test_top_says_on_a_terminal_why_it_waits(nobody: str) -> None:
    """It reads twice, and shows nothing before."""
    words = [sys.executable, "-m", "tritonobs", "top", "--once", "--metrics", f"{nobody}/metrics"]
    terminal, other_end = os.openpty()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=other_end) as waits:
        os.close(other_end)
        said = os.read(terminal, 1000)
        waits.terminate()
    os.close(terminal)

    assert said.startswith(b"counting requests for 6.5 s")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("load", "--mix", "gif:1x1"), "not a kind of image"),
        (("load", "--segment", "fast"), "is not a segment; write 20:30s"),
        (("load", "--duration", "0s"), "is not a duration"),
        (("load", "--url", "localhost:8000"), "is not an address; write one like"),
        (("load", "--qps", "0"), "0 is not in the range"),
        (("stages", "--window", "soon"), "is not a duration; write one like"),
        (("triage", "--baseline", "tomorrow"), "is not a baseline; write previous, yesterday"),
        (("triage", "--at", "noon"), "'noon' is not a moment; write one like 2026-11-11T00:00:00+08:00"),
        (("triage", "--at", "2026-11-11T00:00"), "'2026-11-11T00:00' has no time zone; write one like"),
        (("snapshot", "fleet", "--from", "2026-11-11T00:00"), "'2026-11-11T00:00' has no time zone"),
        pytest.param(
            ("traces", "on", "fleet.yaml", "--rate", "9" * 4301),
            "is neither auto nor a number from 1 to",
        ),
        (("triage", "--at", "2126-01-01T00:00Z"), "Invalid value for --at: is in the future"),
        (("triage", "--at", "now-999999999999999w"), "'999999999999999w' is too long; Prometheus reads"),
        (("snapshot", "fleet", "--from", "now-100000d"), "now-100000d is before 1970"),
        (("stages", "--window", "106752d"), "'106752d' is too long"),
        (("triage", "--load", "none.json"), "none.json: cannot be read: No such file or directory"),
        pytest.param(
            ("triag",),
            "No such command 'triag'. Did you mean 'triage'?",
            marks=pytest.mark.needs("triage"),
        ),
        (("discover", "http://a", "--metrics", "http://b", "--metrics", "http://c"), "2 pages for 1 servers"),
        (("limits", "backtest", "--model", "m"), "give either --qps or --objective"),
        (("limits", "backtest", "--model", "m", "--qps", "unlimited"), "no alert fires without a limit"),
        (
            ("limits", "suggest", "--model", "m", "--drive", "http://a", "--from", "9", "--to", "3"),
            "not above --from",
        ),
    ],
)
def test_wrong_usage_is_exit_2_with_what_is_allowed(run: Run, command: tuple[str, ...], why: str) -> None:
    """Before anybody is asked."""
    done = run(*command)

    assert (done.returncode, done.stdout) == (2, "")
    assert why in " ".join(done.stderr.split())


@pytest.mark.needs("triage")
def test_an_address_that_was_named_takes_precedence_over_the_fleet_file(
    run: Run, fleet_file: Path, nobody: str
) -> None:
    """As with every other option that a fleet file has, too."""
    done = run("triage", str(fleet_file), "--prometheus", nobody)

    assert done.returncode == 3
    assert nobody in done.stderr


@pytest.mark.needs("triage")
def test_a_wrong_fleet_file_is_wrong_usage_with_every_finding(run: Run, fleet_file: Path) -> None:
    """Status 1 would say that something is wrong with the fleet."""
    text = fleet_file.read_text().replace("qps_limit: 8", "qps_limit: eight")
    fleet_file.write_text(text.replace("threshold: 500ms", "threshold: 450ms"))

    for command in ("triage", "top"):
        done = run(command, fleet_file.name)

        assert (done.returncode, done.stdout) == (2, "")
        assert ["fleet.yaml" in line for line in done.stderr.splitlines()] == [True, True]


@pytest.mark.needs("triage")
def test_readings_that_were_saved_are_not_asked_something_else(run: Run) -> None:
    """The option would do nothing, and the verdict look like its answer."""
    done = run("triage", "--load", "x.json", "--model", "nms", "--since", "1m")

    assert done.returncode == 2
    assert "--load reads a saved file: --model, --since cannot change it" in done.stderr


@pytest.mark.needs("triage")
def test_a_file_that_is_no_snapshot_is_refused(run: Run, tmp_path: Path) -> None:
    """Named, with what it lacks."""
    path = tmp_path / "x.json"
    path.write_text("{}", encoding="utf-8")

    done = run("triage", "--load", str(path))

    assert done.returncode == 2
    assert "not a snapshot of format 1" in " ".join(done.stderr.split())


MODELS = {"whole": "1", "plain": "2"}
"""The version under which Triton counts each; `whole` is an ensemble of version 3."""


class _Prometheus(BaseHTTPRequestHandler):
    """Ten requests a second to each model, of a tenth of a second."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._answer(parts.path, parse_qs(parts.query))

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer(self.path, parse_qs(form))

    def _answer(self, path: str, asked: dict[str, list[str]]) -> None:
        body = json.dumps({"status": "success", "data": _data(path, asked)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


def _data(path: str, asked: dict[str, list[str]]) -> object:
    if path.endswith("/label/model/values"):
        return [*MODELS]
    if path.endswith("/label/version/values"):
        return [version for model, version in MODELS.items() if f'"{model}"' in asked["match[]"][0]]
    if path.endswith("/values"):
        return []
    query, rows = asked["query"][0], list[tuple[dict[str, str], float]]()
    if "nv_inference_request_success" in query or "nv_inference_request_duration_us" in query:
        value = 10.0 if "success" in query else 1e6
        rows = [({"model": model, "version": version}, value) for model, version in MODELS.items()]
    elif "tritonobs_model_info" in query and 'model="whole"' in query:
        rows = [({"model": "whole"}, 1.0)]
    result = [{"metric": labels, "value": [0, str(value)]} for labels, value in rows]
    return {"resultType": "vector", "result": result}


@pytest.fixture(name="url")
def _url() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Prometheus)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def test_an_ensembles_own_version_is_looked_up_under_version_1(run: Run, url: str) -> None:
    """Its requests are shown, and a line says why another version stands there."""
    done = run("stages", "--model", "whole", "--version", "3", "--prometheus", url, "--format", "json")

    (table,) = json.loads(done.stdout)
    assert (done.returncode, table["version"], table["request"]["rate"]) == (0, "1", 10.0)
    assert done.stderr.strip() == (
        "Triton reports every ensemble under version 1, not its own: these are all requests to whole"
    )


def test_a_version_that_a_plain_model_does_not_have_is_wrong_usage(run: Run, url: str) -> None:
    """Another version's numbers are not shown in its place."""
    done = run("stages", "--model", "plain", "--version", "3", "--prometheus", url)

    assert (done.returncode, done.stdout) == (2, "")
    assert 'no version "3" of plain was seen; there are 2' in done.stderr


@pytest.fixture(name="windows")
def _windows(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The windows, in seconds, in which Prometheus was read."""
    asked: list[float] = []

    def view(_: object, *, window_seconds: float) -> TopView:
        asked.append(window_seconds)
        return TopView(at=0, seconds=window_seconds, source="Prometheus", rows=())

    monkeypatch.setattr("tritonobs.timings.top.view_of_prometheus", view)
    monkeypatch.setattr("tritonobs.cli.live.asked_prometheus", lambda *_: None)
    return asked


@pytest.mark.parametrize(
    ("scrape", "words", "window"),
    [
        pytest.param("5s", (), 30, id="at least half a minute"),
        pytest.param("30s", (), 120, id="four scrapes"),
        pytest.param("30s", ("--window", "45s"), 45, id="as it is written"),
        pytest.param("", (), 60, id="without a fleet file"),
    ],
)
def test_a_window_holds_enough_scrapes(
    run: Run, windows: list[float], tmp_path: Path, *, scrape: str, words: tuple[str, ...], window: float
) -> None:
    """With a scrape every 30 s a window of 30 s would show a fleet without models."""
    fleet = tmp_path / "fleet.yaml"
    if scrape:
        fleet.write_text(
            f"fleet: f\nprometheus: {{scrape_interval: {scrape}}}\n"
            "replicas: [{name: a, url: 'http://a:8000'}]\nmodels: {m: {}}\n"
        )

    run("top", "--once", "--prometheus", "http://127.0.0.1:9", *words, *([str(fleet)] if scrape else []))

    assert windows == [window]
