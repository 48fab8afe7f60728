"""The P99 of every model on a board, where its requests are not traced and its stages say it."""

from __future__ import annotations

import re

import pytest

from support.case import Case, reads
from support.promtool import run
from support.simulate import World
from tritonobs import programs
from tritonobs.render.grafana import load_boards

MODEL = {"cluster": "c", "model": "m", "version": "1"}


@pytest.mark.parametrize(("requests", "shown"), [(100, True), (99, False)])
def test_no_p99_of_few_is_drawn(tmp_path, requests, shown):
    """Of fewer than a hundred requests none is drawn."""
    (panel,) = [
        panel for panel in load_boards()["fleet"]["panels"] if panel["title"] == "P99 of every model, 5 min"
    ]
    (target,) = panel["targets"]
    labels = {**MODEL, "phase": "request", "source": "stages_without_queue"}
    world = World(minutes=15).gauge("model_version_phase:tritonobs_request_seconds:p99_5m", 0.9, **labels)
    count = "model_version_stage:tritonobs_stage_duration_seconds_count:rate1m"
    world.gauge(count, requests / 300, **MODEL, stage="total")
    checks = (reads(re.sub(r"\$\w+", ".*", target["expr"]), 12, *([(labels, 0.9)] if shown else [])),)
    case = Case(says="few", world=world, rules=(), checks=checks)

    assert run(programs.find("promtool"), (), case, tmp_path) == ""
