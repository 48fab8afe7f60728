"""A fleet file compared with what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.clients.prometheus import Reading
from tritonobs.discover.compare import unknown_stages
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from pathlib import Path

FLEET = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models:
  inspect: {pipeline: bls, calls: {%s: {model: detector}}, versions: {"1": {}}}
  detector: {versions: {"1": {}}}
"""


class _Prometheus:
    """Knows these stages of `inspect`."""

    def __init__(self, *stages: str) -> None:
        self._stages = stages

    def query(self, _: str) -> tuple[Reading, ...]:
        return tuple(
            Reading(labels={"model": "inspect", "stage": stage}, value=1.0, time=0.0)
            for stage in self._stages
        )


def _found(folder: Path, stage: str, *reported: str) -> list[str]:
    file = folder / "fleet.yaml"
    file.write_text(FLEET % stage)
    plan = build_plan(load_fleet(file), folder)
    prometheus = _Prometheus(*reported)
    return [str(finding) for finding in unknown_stages(plan, prometheus, "fleet.yaml")]  # type: ignore[arg-type]


def test_a_misspelt_stage_is_found_where_the_model_reports_others(tmp_path: Path) -> None:
    """The file alone cannot tell; the running model can."""
    (found,) = _found(tmp_path, "detect0r", "total", "detector", "nms")

    assert found == (
        'fleet.yaml: models.inspect.calls.detect0r: inspect reports no stage "detect0r"; '
        "it reports detector and nms (did you mean detector?)"
    )


def test_what_is_right_or_not_reported_is_not_complained_about(tmp_path: Path) -> None:
    """A model without stages says nothing about the names of its calls."""
    assert _found(tmp_path, "detector", "total", "detector") == []
    assert _found(tmp_path, "detect0r") == []
