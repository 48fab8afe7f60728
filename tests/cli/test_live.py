"""`load`, `stages`, `triage`, `top`, `discover`: options, one call, an exit code."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

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


def test_top_of_a_page_nobody_serves_says_so(run: Run, nobody: str) -> None:
    """The view names what it does not see, and ends with 3."""
    done = run("top", "--once", "--interval", "1s", "--metrics", f"{nobody}/metrics")

    assert done.returncode == 3
    assert "not seen: " in done.stdout
    assert "connection refused" in done.stdout


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
        (("traces", "on", "fleet.yaml", "--rate", "9" * 4301), "is neither auto nor a number from 1 to"),
        (("triage", "--at", "2126-01-01T00:00Z"), "Invalid value for --at: is in the future"),
        (("triage", "--load", "none.json"), "none.json: cannot be read: No such file or directory"),
        (("triag",), "No such command 'triag'. Did you mean 'triage'?"),
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


def test_an_address_that_was_named_takes_precedence_over_the_fleet_file(
    run: Run, fleet_file: Path, nobody: str
) -> None:
    """As with every other option that a fleet file has, too."""
    done = run("triage", str(fleet_file), "--prometheus", nobody)

    assert done.returncode == 3
    assert nobody in done.stderr


def test_a_wrong_fleet_file_is_wrong_usage_with_every_finding(run: Run, fleet_file: Path) -> None:
    """Status 1 would say that something is wrong with the fleet."""
    text = fleet_file.read_text().replace("qps_limit: 8", "qps_limit: eight")
    fleet_file.write_text(text.replace("threshold: 500ms", "threshold: 450ms"))

    for command in ("triage", "top"):
        done = run(command, fleet_file.name)

        assert (done.returncode, done.stdout) == (2, "")
        assert ["fleet.yaml" in line for line in done.stderr.splitlines()] == [True, True]


def test_readings_that_were_saved_are_not_asked_something_else(run: Run) -> None:
    """The option would do nothing, and the verdict look like its answer."""
    done = run("triage", "--load", "x.json", "--model", "nms", "--since", "1m")

    assert done.returncode == 2
    assert "--load reads a saved file: --model, --since cannot change it" in done.stderr


def test_a_file_that_is_no_snapshot_is_refused(run: Run, tmp_path: Path) -> None:
    """Named, with what it lacks."""
    path = tmp_path / "x.json"
    path.write_text("{}", encoding="utf-8")

    done = run("triage", "--load", str(path))

    assert done.returncode == 2
    assert "not a snapshot of format 1" in " ".join(done.stderr.split())
