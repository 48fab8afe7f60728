"""`notify.alertmanager_file`: our routes in a user's own configuration, as amtool reads the result."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tritonobs.plan.build import build_plan, check
from tritonobs.programs import find
from tritonobs.render.alertmanager import render_alertmanager
from tritonobs.render.artifact import write_artifacts
from tritonobs.spec.load import load_fleet, read_fleet

if TYPE_CHECKING:
    from pathlib import Path

FLEET = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models: {inspect: {versions: {"1": {}}}}
notify:
  alertmanager_file: own/alertmanager.yml
"""
ROBOT = "  dingtalk: {oncall: {webhook_file: secrets/webhook}}\n"
PAGER = "  routes: [{match: {severity: critical}, to: [dingtalk/oncall, alertmanager/pager]}]\n"
OWN = """\
global: {smtp_smarthost: "mail:25", smtp_from: a@b, resolve_timeout: 6m}
templates: [mine/*.tmpl]
route:
  receiver: mail
  routes:
    - {matchers: ['severity="critical"'], receiver: pager, mute_time_intervals: [nights]}
    - {matchers: ['alertname="Watchdog"'], receiver: heartbeat}
time_intervals:
  - {name: nights, time_intervals: [{times: [{start_time: "22:00", end_time: "24:00"}]}]}
inhibit_rules: [{source_matchers: ['a="b"'], target_matchers: ['c="d"'], equal: [x]}]
receivers:
  - {name: mail, email_configs: [{to: x@y, send_resolved: true}]}
  - {name: pager, pagerduty_configs: [{routing_key_file: keys/pager}]}
  - {name: heartbeat, webhook_configs: [{url: "http://heart/beat"}]}
"""
NIGHT = """\
    - {matchers: ['owner="night"'], receiver: dingtalk/oncall, mute_time_intervals: [nights]}
"""
MUTED = OWN.replace("time_intervals:\n", f"{NIGHT}time_intervals:\n", 1)


def _folder(tmp_path: Path, notify: str, own: str = OWN) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "alertmanager.yml").write_text(own)
    (tmp_path / "fleet.yaml").write_text(FLEET + notify)
    return tmp_path


def _built(folder: Path) -> Path:
    plan = build_plan(load_fleet(folder / "fleet.yaml"), folder)
    write_artifacts(render_alertmanager(plan), folder / "out")
    return folder / "out" / "alertmanager" / "alertmanager.yml"


def _complaints(folder: Path) -> list[str]:
    reading = read_fleet(folder / "fleet.yaml")
    found = reading.findings or tuple(check(reading.spec) if reading.spec else ())
    return [str(finding).replace(f"{folder}/", "") for finding in found]


def _routed(config: Path, labels: str) -> str:
    command = [find("amtool"), "config", "routes", "test", "--config.file", str(config), *labels.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("notify", "labels", "receivers"),
    [
        pytest.param(
            ROBOT, "alertname=TritonServerDown severity=critical", "dingtalk/oncall", id="ours, a page"
        ),
        pytest.param(ROBOT, "alertname=TritonSaturated severity=info", "dingtalk/oncall", id="ours, an info"),
        pytest.param(ROBOT, "alertname=KubeDown severity=critical", "pager", id="theirs, a page"),
        pytest.param(ROBOT, "alertname=KubeDown severity=info", "mail", id="theirs, by default"),
        pytest.param(
            ROBOT, "alertname=Watchdog severity=none", "heartbeat", id="without our switch, their Watchdog"
        ),
        pytest.param(
            ROBOT + "  dead_man: {url: 'http://dead/man'}\n",
            "alertname=Watchdog severity=none",
            "dead-man,heartbeat",
            id="both dead man's switches",
        ),
        pytest.param(
            ROBOT + PAGER,
            "alertname=TritonServerDown severity=critical",
            "dingtalk/oncall,pager",
            id="ours to a receiver of theirs, too",
        ),
        pytest.param("", "alertname=TritonServerDown severity=critical", "pager", id="no receiver of ours"),
        pytest.param(
            ROBOT + "  routes: [{match: {team: vision}, to: alertmanager/mail}]\n",
            "alertname=TritonServerDown severity=critical team=vision",
            "mail",
            id="only routes of ours",
        ),
        pytest.param(
            ROBOT,
            "alertname=TritonServerDown severity=info owner=night",
            "dingtalk/oncall",
            id="their route to a receiver of ours",
        ),
        pytest.param(
            "  routes: [{match: {team: vision}, to: alertmanager/mail}]\n",
            "alertname=KubeDown severity=critical team=vision",
            "pager",
            id="our routes take none of their alerts",
        ),
    ],
)
def test_every_alert_goes_where_its_owner_wants_it(
    tmp_path: Path, notify: str, labels: str, receivers: str
) -> None:
    """Ours by the fleet file, theirs as before."""
    own = MUTED if ROBOT in notify else OWN
    assert _routed(_built(_folder(tmp_path, notify, own)), labels) == receivers


def test_merged_configuration_is_accepted_and_loses_nothing(tmp_path: Path) -> None:
    """Amtool loads it; what the user wrote is still there, with paths that hold in another folder."""
    folder = _folder(tmp_path, ROBOT + PAGER, MUTED)
    config = _built(folder)
    (folder / "own" / "mine").mkdir()
    (folder / "own" / "mine" / "a.tmpl").write_text("")
    checked = subprocess.run(
        [find("amtool"), "check-config", str(config)], capture_output=True, text=True, check=False
    )
    assert "SUCCESS" in checked.stdout, checked.stdout + checked.stderr
    written = yaml.safe_load(config.read_text())
    own = yaml.safe_load(MUTED)
    assert written["global"] == own["global"]
    assert written["time_intervals"] == own["time_intervals"]
    assert written["inhibit_rules"][0] == own["inhibit_rules"][0]
    assert written["templates"] == [f"{folder}/own/mine/*.tmpl", "templates/tritonobs.tmpl"]
    assert written["receivers"][1]["pagerduty_configs"] == [{"routing_key_file": f"{folder}/own/keys/pager"}]
    theirs = own["route"]["routes"]
    assert (written["route"]["routes"][0], written["route"]["routes"][-2:]) == (theirs[2], theirs[:2])


def test_fragment_fits_into_a_configuration_kept_elsewhere(tmp_path: Path) -> None:
    """Its lists, put in front of those of the other file, route as the merged file does."""
    folder = _folder(tmp_path, ROBOT)
    config = _built(folder)
    fragment = yaml.safe_load((config.parent / "fragment.yml").read_text())
    other = yaml.safe_load(OWN)
    other["templates"] = fragment["templates"]
    other["receivers"] += fragment["receivers"]
    other["inhibit_rules"] += fragment["inhibit_rules"]
    other["route"]["routes"] = fragment["route"]["routes"] + other["route"]["routes"]
    pasted = config.parent / "pasted.yml"
    pasted.write_text(yaml.safe_dump(other))
    for labels in ("alertname=TritonServerDown severity=critical", "alertname=KubeDown severity=critical"):
        assert _routed(pasted, labels) == _routed(config, labels)


@pytest.mark.parametrize(
    ("own", "complaint"),
    [
        pytest.param("", "own/alertmanager.yml:1:1: the file is empty", id="empty"),
        pytest.param("- a\n", "own/alertmanager.yml:1:1: is not a mapping", id="a list"),
        pytest.param("route: {}\n", "own/alertmanager.yml:1:8: route: has no receiver", id="no receiver"),
        pytest.param("route: {receiver: [", "own/alertmanager.yml:2:1: not YAML", id="no YAML"),
        pytest.param("a: 2024-02-31\n", "own/alertmanager.yml: holds a value", id="no date"),
        pytest.param(
            "route: {receiver: a, receiver: b}\n",
            'own/alertmanager.yml:1:22: "receiver" is written twice',
            id="twice",
        ),
        pytest.param(
            "route: {receiver: dingtalk/oncall}\nreceivers: [{name: dingtalk/oncall}]\n",
            'notify.alertmanager_file: has a receiver "dingtalk/oncall", which is the name of one of ours',
            id="a name of ours",
        ),
    ],
)
def test_what_is_wrong_with_the_file_has_a_place(tmp_path: Path, own: str, complaint: str) -> None:
    """Findings, never a traceback; no value is shown."""
    found = _complaints(_folder(tmp_path, ROBOT, own))
    assert any(complaint in one for one in found), found


def test_missing_file_and_unknown_receiver_are_findings(tmp_path: Path) -> None:
    """With the place in the fleet file, and the nearest name."""
    folder = _folder(tmp_path, ROBOT + "  routes: [{to: alertmanager/pagr}]\n")
    (only,) = _complaints(folder)
    assert 'notify.routes[0].to[0]: found "alertmanager/pagr", which is not a receiver' in only
    assert 'did you mean "alertmanager/pager"' in only
    (folder / "own" / "alertmanager.yml").unlink()
    assert _complaints(folder) == [
        (
            "fleet.yaml:5:22: notify.alertmanager_file: own/alertmanager.yml: cannot be read: "
            "No such file or directory"
        )
    ]
    # Its receivers are not known, so none of them is called wrong; a robot that is not there still is.
    spec = read_fleet(folder / "fleet.yaml").spec
    assert spec is not None
    assert list(check(spec)) == []
    (folder / "fleet.yaml").write_text(FLEET + ROBOT + "  routes: [{to: [alertmanager/pagr, dingtalk/on]}]\n")
    spec = read_fleet(folder / "fleet.yaml").spec
    assert spec is not None
    assert [finding.path for finding in check(spec)] == ["notify.routes[0].to[1]"]


@pytest.mark.parametrize(
    ("notify", "hint"),
    [
        pytest.param("  email: {a: {to: x@y}}\n", "name that file in notify.alertmanager_file", id="mail"),
        pytest.param("  timing: {}\n", "name that file in notify.alertmanager_file", id="timing"),
        pytest.param("  routes: [{to: dingtalk/oncall, go_on: true}]\n", "write continue", id="go_on"),
    ],
)
def test_fields_of_the_release_before_say_what_to_write_now(tmp_path: Path, notify: str, hint: str) -> None:
    """One release long."""
    (only,) = _complaints(_folder(tmp_path, ROBOT + notify))
    assert "unknown field" in only
    assert hint in only
