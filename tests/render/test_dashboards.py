"""Boards and Grafana's provisioning as a build writes them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path, PurePosixPath

import pytest
import yaml

from tritonobs import names
from tritonobs.plan.build import build_plan
from tritonobs.render.everything import render_fleet
from tritonobs.render.grafana import load_boards, render_dashboards, render_grafana
from tritonobs.spec.load import load_fleet

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="plan", scope="module")
def _plan():
    return build_plan(load_fleet(ROOT / "examples" / "fleet.yaml"), Path("/etc/tritonobs"))


def test_the_same_plan_gives_the_same_bytes(plan):
    """A build without a change of the fleet changes no board."""
    assert render_dashboards(plan) == render_dashboards(plan)


def test_boards_read_the_windows_that_the_rules_record(plan):
    """At a scrape every 5 s the short window is 20 s, at 15 s a minute; the names of records follow."""
    slow = replace(plan, prometheus=replace(plan.prometheus, scrape_interval_seconds=Decimal(15)))
    quick_text, slow_text = ("".join(one.text for one in render_dashboards(each)) for each in (plan, slow))

    assert "model_version:triton_requests:rate20s" in quick_text
    assert "model_version:triton_requests:rate1m" in slow_text
    assert "rate20s" not in slow_text
    assert "%(" not in quick_text


def test_replicas_are_told_apart_by_their_names(plan):
    """A build puts the label replica on every target; the boards read it."""
    hosts = next(one for one in render_dashboards(plan) if "hosts" in one.path)

    assert "max by (replica)" in hosts.text


def test_loading_boards_leaves_the_interpreter_as_it_was():
    """Neither the path nor modules with names as common as `signals` stay behind."""
    before = (list(sys.path), set(sys.modules))
    load_boards()

    assert sys.path == before[0]
    assert not {"house", "signals", "panels", "fields", "palette"} & set(sys.modules)


def test_boards_hold_nothing_that_is_unset():
    """No null but the lowest threshold's: what Grafana decides is left to Grafana."""

    def nulls(value, path=""):
        if isinstance(value, dict):
            return [found for key, one in value.items() for found in nulls(one, f"{path}.{key}")]
        if isinstance(value, list):
            return [found for one in value for found in nulls(one, path)]
        return [path] if value is None else []

    left = {path for board in load_boards().values() for path in nulls(board)}

    assert {path for path in left if not path.endswith("steps.value")} == set()


def test_provisioning_leads_grafana_to_prometheus_and_to_the_boards(plan):
    """Data sources with the fleet's addresses; a provider whose folder is where the boards are written."""
    artifacts = {one.path: one.text for one in render_grafana(plan, PurePosixPath("/opt/provisioning"))}
    sources = yaml.safe_load(artifacts["grafana/datasources/tritonobs.yaml"])["datasources"]
    (provider,) = yaml.safe_load(artifacts["grafana/dashboards/tritonobs.yaml"])["providers"]
    boards = [path for path in artifacts if path.endswith(".json")]

    assert {one["type"]: one["url"] for one in sources} == {
        "prometheus": "http://127.0.0.1:9090",
        "alertmanager": "http://127.0.0.1:9093",
    }
    assert sources[0]["jsonData"]["timeInterval"] == "5s"
    assert {f"/opt/provisioning/{Path(path).parent.relative_to('grafana')}" for path in boards} == {
        provider["options"]["path"]
    }
    assert len(boards) == len(names.BOARDS)
    assert all(json.loads(artifacts[path])["uid"] for path in boards)


def test_a_grafana_with_a_default_of_its_own_still_starts(plan):
    """Grafana refuses a second default. Every board names our data source by its uid, so none is needed."""
    artifacts = {one.path: one.text for one in render_grafana(plan)}
    sources = yaml.safe_load(artifacts["grafana/datasources/tritonobs.yaml"])["datasources"]
    boards = [json.loads(text) for path, text in artifacts.items() if path.endswith(".json")]
    drawn = [panel for board in boards for panel in board["panels"] if panel.get("targets")]

    assert [one["name"] for one in sources if one.get("isDefault")] == []
    assert {panel["datasource"]["uid"] for panel in drawn} == {sources[0]["uid"]}


def test_a_dollar_in_an_address_stays_one(plan):
    """Grafana reads `$NAME` in these files as a variable of its environment."""
    odd = replace(plan, addresses=replace(plan.addresses, prometheus_url="http://prom/$tenant"))
    artifacts = {one.path: one.text for one in render_grafana(odd)}

    assert "http://prom/$$tenant" in artifacts["grafana/datasources/tritonobs.yaml"]


def test_every_folder_that_grafana_looks_for_is_there(plan):
    """One that is not there is an error in Grafana's log at every start."""
    artifacts = {one.path: one.text for one in render_grafana(plan)}

    for name, key in (("plugins", "apps"), ("notifiers", "notifiers"), ("alerting", "groups")):
        assert yaml.safe_load(artifacts[f"grafana/{name}/tritonobs.yaml"]) == {"apiVersion": 1, key: []}


def test_a_build_can_be_for_another_folder(plan):
    """The provider of the boards is the only thing that names it."""
    everything = {one.path: one.text for one in render_fleet(plan, PurePosixPath("/srv/grafana"))}
    (provider,) = yaml.safe_load(everything["grafana/dashboards/tritonobs.yaml"])["providers"]

    assert provider["options"]["path"] == "/srv/grafana/dashboards/boards"


def test_built_boards_know_the_names_of_the_fleet(plan):
    """The models of the fleet file have fixed colours on the boards that a build writes."""
    fleet = next(one.text for one in render_dashboards(plan) if "fleet" in one.path)

    assert "inspect_ensemble( 1)?" in str(json.loads(fleet))
