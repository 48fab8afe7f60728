"""A fleet file compared with what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tritonobs.clients.prometheus import Reading
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet
from tritonobs.timings.ask import unknown_names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FLEET = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models:
  inspect: {pipeline: bls, calls: {%s: {model: detector}}, versions: {"1": {}}}
  detector: {versions: {"1": {}}}
"""


class _Prometheus:
    """Has these versions of models loaded, and knows these stages of `inspect`."""

    def __init__(self, loaded: Iterable[tuple[str, str]], stages: Iterable[str]) -> None:
        self._loaded, self._stages = loaded, stages

    def query(self, question: str) -> tuple[Reading, ...]:
        if "nv_inference_request_success" in question:
            found = [{"model": model, "version": version} for model, version in self._loaded]
        else:
            found = [{"model": "inspect", "stage": stage} for stage in self._stages]
        return tuple(Reading(labels=labels, value=1.0, time=0.0) for labels in found)


def _found(
    folder: Path,
    stage: str,
    *reported: str,
    loaded: Iterable[tuple[str, str]] = (("inspect", "1"), ("detector", "1")),
) -> list[str]:
    file = folder / "fleet.yaml"
    file.write_text(FLEET % stage)
    plan = build_plan(load_fleet(file), folder)
    prometheus = _Prometheus(loaded, reported)
    return [str(finding) for finding in unknown_names(plan, prometheus, "fleet.yaml")]  # type: ignore[arg-type] # a double of the client


def test_a_prometheus_that_knows_no_model_is_one_finding(tmp_path: Path) -> None:
    """The label of the cluster is the usual reason."""
    assert _found(tmp_path, "detector", loaded=()) == [
        (
            'fleet.yaml: models: Prometheus has seen no model with cluster="default" within the hour '
            "(is Triton scraped, and do its targets have that label?)"
        )
    ]


def test_a_model_and_a_version_that_no_server_has_are_found(tmp_path: Path) -> None:
    """A misspelt name, and a version that was never rolled out."""
    assert _found(tmp_path, "detector", loaded=[("inspect", "2"), ("detektor", "1")]) == [
        (
            "fleet.yaml: models.inspect.versions.1: "
            'no server has loaded version "1" of inspect within the hour; seen: 2'
        ),
        (
            'fleet.yaml: models.detector: no server has loaded "detector" within the hour; '
            "seen: detektor and inspect (did you mean detektor?)"
        ),
    ]


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
