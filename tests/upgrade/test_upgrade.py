"""Files of each release since 0.5.0, as it wrote or shipped them, read by this one without loss."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from tritonobs.findings import Severity
from tritonobs.limits.change import log_of, verify_log
from tritonobs.plan.build import build_plan, check
from tritonobs.spec.load import read_fleet

FOLDERS = sorted(
    (path for path in Path(__file__).parent.iterdir() if (path / "fleet.yaml").exists()),
    key=lambda path: tuple(map(int, path.name.split("."))),
)
RENAMED = {"0.5.0": {"target": "threshold"}}
"""Fields that have another name now, by the release that wrote them so."""


@pytest.fixture(name="old", params=FOLDERS, ids=lambda path: path.name)
def _old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The files of one release."""
    return shutil.copytree(request.param, tmp_path / request.param.name)


def _mistakes(path: Path) -> list[tuple[str, str]]:
    reading = read_fleet(path)
    checked = () if reading.spec is None else check(reading.spec)
    return [(one.path, one.hint) for one in (*reading.findings, *checked) if one.severity is Severity.ERROR]


def _upgrade(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for before, now in RENAMED.get(path.parent.name, {}).items():
        text = text.replace(f"{before}: ", f"{now}: ")
    path.write_text(text, encoding="utf-8")


def test_releases_are_complete() -> None:
    """Each has a fleet file and a log of limits."""
    names = [path.name for path in FOLDERS]

    assert names == [
        *("0.5.0", "0.6.0", "0.6.1", "0.6.2", "0.6.3", "0.6.4"),
        *("0.7.0", "0.8.0", "0.9.0", "0.10.0", "0.11.0"),
        *("0.12.0", "0.12.1", "0.12.2", "0.12.3", "0.13.0", "0.13.1", "0.13.2", "0.13.3", "0.13.4"),
    ]
    assert [path.name for path in FOLDERS if not (path / "fleet.limits.jsonl").exists()] == []


def test_a_renamed_field_is_the_only_mistake_and_has_its_new_name(old: Path) -> None:
    """Nothing else of an old file is wrong, and nothing is reported twice in other words."""
    renamed = RENAMED.get(old.name, {})

    for file in old.glob("*.yaml"):
        assert _mistakes(file) == [
            (f"defaults.slos.latency.{before}", f"write {now}") for before, now in renamed.items()
        ], file.name
        _upgrade(file)
        assert _mistakes(file) == [], file.name


def test_an_old_fleet_file_means_what_it_meant(old: Path) -> None:
    """Models, limits and objectives are those that it says."""
    _upgrade(old / "fleet.yaml")
    reading = read_fleet(old / "fleet.yaml")
    assert reading.spec is not None

    plan = build_plan(reading.spec, old)

    assert [replica.name for replica in plan.replicas] == ["triton-1"]
    assert [
        (one.model, one.version, one.qps)
        for one in plan.limits
        if one.qps is not None and one.origin == f"models.{one.model}.qps_limit" and not one.version
    ] == [("inspect", "", Decimal("9.5"))]
    assert ("detector", "1", Decimal(12)) in {(one.model, one.version, one.qps) for one in plan.limits}
    assert {
        (slo.name, slo.objective_ratio, slo.stage, slo.threshold_seconds)
        for slo in plan.slos
        if slo.model == "inspect"
    } == {
        ("availability", Decimal("0.999"), "", None),
        ("latency", Decimal("0.99"), "total", Decimal("0.5")),
    }


def test_an_old_log_of_limits_is_whole(old: Path) -> None:
    """Its chain holds, it ends with the limits of the file, and every change has its author and reason."""
    _upgrade(old / "fleet.yaml")

    findings, _ = verify_log(old / "fleet.yaml")
    entries, _ = log_of(old / "fleet.yaml").read()

    assert findings == ()
    assert [(one.number, one.who, one.field, one.old, one.new, one.reason) for one in entries[3:]] == [
        (4, "kim@vm", "models.inspect.qps_limit", "8", "9.5", 'canary, "quoted" 限额'),
        (5, "kim@vm", "models.preprocess.qps_limit", "40", "unlimited", "load test"),
        (6, "kim@vm", "models.detector.versions.1.qps_limit", "40", "12", "second card"),
    ]
