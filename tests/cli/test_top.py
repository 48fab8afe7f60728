"""`top --prometheus`: its window holds enough scrapes for a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.timings.top import TopView

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


@pytest.fixture(name="windows")
def _windows(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The windows, in seconds, in which Prometheus was read."""
    asked: list[float] = []

    def view(_: object, *, window_seconds: float) -> TopView:
        asked.append(window_seconds)
        return TopView(at=0, seconds=window_seconds, source="Prometheus", rows=())

    monkeypatch.setattr("tritonobs.timings.top.view_of_prometheus", view)
    monkeypatch.setattr("tritonobs.cli.top.asked_prometheus", lambda *_: None)
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
