"""Rules on a faster clock are the same rules, and Prometheus takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tritonobs import assets
from tritonobs.plan.build import build_plan
from tritonobs.render.artifact import Artifact
from tritonobs.render.everything import render_fleet
from tritonobs.render.quicken import quicken
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterable


def _rules(artifacts: Iterable[Artifact]) -> dict[str, Any]:
    return {
        rule.get("alert") or rule["record"]: rule
        for artifact in artifacts
        if artifact.path.startswith("prometheus/rules/")
        for group in yaml.safe_load(artifact.text)["groups"]
        for rule in group["rules"]
    }


@pytest.fixture(name="fleet", scope="module")
def _fleet() -> tuple[Artifact, ...]:
    fleet = assets.folder("examples") / "fleet.yaml"
    return render_fleet(build_plan(load_fleet(fleet), fleet.parent))


def test_the_fleets_own_speed_changes_nothing(fleet: tuple[Artifact, ...]) -> None:
    """Byte for byte."""
    assert quicken(fleet, 1.0) == fleet


def test_the_same_rules_wait_shorter(fleet: tuple[Artifact, ...]) -> None:
    """Waits and long windows are divided, short windows stay; names, labels and thresholds stay as well."""
    before, after = _rules(fleet), _rules(quicken(fleet, 5.0))

    assert after.keys() == before.keys()
    assert (before["TritonStageSlow"]["for"], after["TritonStageSlow"]["for"]) == ("5m", "1m")
    assert (before["TritonServerDown"]["for"], after["TritonServerDown"]["for"]) == ("30s", "6s")
    for name in ("TritonServerDown", "TritonQueueWaitHigh"):
        assert after[name]["expr"] == before[name]["expr"]
    assert "[12m] offset 1m" in after["TritonErrorReasonSurge"]["expr"]
    assert "[1h] offset 5m" in before["TritonErrorReasonSurge"]["expr"]


def test_only_rules_are_touched(fleet: tuple[Artifact, ...]) -> None:
    """What Alertmanager and Grafana get is the fleet's."""
    changed = {new.path for old, new in zip(fleet, quicken(fleet, 5.0), strict=True) if old.text != new.text}

    assert changed <= {f"prometheus/rules/{name}.rules.yml" for name in ("alerts", "records", "objectives")}
    assert "prometheus/rules/alerts.rules.yml" in changed


def test_an_interval_below_the_scrapes_is_not_asked_for() -> None:
    """A group that is evaluated every five seconds goes on so."""
    rules = {
        "groups": [
            {"name": "a", "interval": "5s", "rules": []},
            {"name": "b", "interval": "15s", "rules": []},
        ]
    }
    artifact = Artifact(path="prometheus/rules/x.rules.yml", text=yaml.safe_dump(rules))

    (quick,) = quicken((artifact,), 10.0)

    assert [group["interval"] for group in yaml.safe_load(quick.text)["groups"]] == ["5s", "5s"]
