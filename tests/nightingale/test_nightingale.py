"""`build --target n9e`: what Nightingale keeps of it, compared with what it keeps of Prometheus' files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.n9e import KEPT, Kept, convert_interval, import_own, import_prometheus, misread
from tritonobs.errors import RenderFailed
from tritonobs.extensions.nightingale.render import PATH, RECORDS_PATH, artifacts, translated
from tritonobs.plan.build import build_plan
from tritonobs.render.rules import render_rules
from tritonobs.spec.load import read_text
from tritonobs.spec.rules import ALERTS

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan

FLEET = """\
fleet: shop
replicas: [{name: a, url: "http://10.0.0.1:8000"}]
models: {m: {qps_limit: 8}}
"""
GRAFANA = "addresses: {grafana: 'http://grafana:3000'}\n"


def _plan(more: str = "") -> Plan:
    reading = read_text(FLEET + more, "fleet.yaml")
    assert reading.spec is not None, reading.findings
    return build_plan(reading.spec, Path())


def _built(more: str = "") -> dict[str, str]:
    return {one.path: one.text for one in artifacts(_plan(more), Path())}


def _kept(more: str = "") -> dict[str, Kept]:
    kept, refused = import_own(_built(more)[PATH])
    assert refused == {}
    return {one.name: one for one in kept}


def _rules(plan: Plan) -> dict[str, tuple[str, dict[str, Any]]]:
    groups = [group for one in render_rules(plan) for group in yaml.safe_load(one.text)["groups"]]
    return {
        rule["alert"]: (group["interval"], rule)
        for group in groups
        for rule in group["rules"]
        if "alert" in rule
    }


@pytest.fixture(name="kept", scope="module")
def _module_kept() -> dict[str, Kept]:
    return _kept()


def test_every_alert_is_kept_once(kept: dict[str, Kept]) -> None:
    """Also those that stand among the records they read."""
    assert sorted(kept) == sorted(ALERTS)


def test_its_fields_are_those_it_knows() -> None:
    """What has another name would be dropped without a word."""
    assert {field for rule in json.loads(_built()[PATH]) for field in rule} <= KEPT


@pytest.mark.parametrize(
    ("alert", "times", "severity"),
    [
        ("TritonQpsAboveLimit", (5, 0, 60), 1),
        ("TritonServerDown", (5, 30, 0), 1),
        ("TritonSaturated", (30, 300, 0), 2),
        ("TritonKvCacheFull", (15, 60, 120), 2),
        ("TritonErrorBudgetBurnFast", (30, 0, 0), 1),
        ("TritonErrorBudgetBurnSlow", (60, 0, 1200), 2),
        ("TritonModelReloaded", (60, 0, 240), 3),
    ],
)
def test_times_and_severities_are_meant(
    kept: dict[str, Kept], alert: str, times: tuple[int, int, int], severity: int
) -> None:
    """Interval, `for` (0 s without one, not a minute), and `keep_firing_for` as the time to recover."""
    rule = kept[alert]

    assert (rule.interval_seconds, rule.for_seconds, rule.recover_seconds) == times
    assert rule.severity == severity


def test_each_rule_asks_and_says_what_prometheus_would(kept: dict[str, Kept]) -> None:
    """Expression, links and times of all of them."""
    for name, (interval, rule) in _rules(_plan()).items():
        own = kept[name]
        assert own.query == rule["expr"]
        assert own.runbook == own.annotations["runbook_url"] == rule["annotations"]["runbook_url"]
        assert own.interval_seconds == convert_interval(interval)
        assert own.for_seconds == (convert_interval(rule["for"]) if "for" in rule else 0)
        assert set(own.annotations) == {"summary", "description", "runbook_url", "dashboard_url"}


def test_nobody_is_told_that_all_is_well() -> None:
    """The dead man's switch, and what the fleet file tells nobody, stand there and are off."""
    kept = _kept("rules: {severities: {TritonModelReloaded: none}}\n")

    assert [name for name, one in kept.items() if one.disabled] == ["TritonModelReloaded", "Watchdog"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("where", ["", GRAFANA])
def test_it_can_fill_every_text(language: str, where: str) -> None:
    """In both languages, with links to Prometheus and to Grafana."""
    kept = _kept(f"{where}notify: {{language: {language}}}\n")
    wrong = {
        name: found
        for name, one in kept.items()
        if (found := [why for text in one.annotations.values() for why in misread(text)])
    }

    assert wrong == {}


def test_data_sources_and_notification_rules_are_those_of_the_fleet_file() -> None:
    """An import that replaces rules replaces these as well, so what is chosen by hand would be lost."""
    said = "notify: {nightingale: {data_sources: [prom-*, other], notify_rules: [3, 4]}}\n"

    assert {(one.data_sources, one.notify_rules) for one in _kept(said).values()} == {
        (("prom-*", "other"), (3, 4))
    }
    assert {(one.data_sources, one.notify_rules) for one in _kept().values()} == {(("*",), ())}


def test_notes_ask_nothing() -> None:
    """A rule's note is filled without `query`."""
    for rule in json.loads(_built("notify: {language: zh}\n")[PATH]):
        assert (misread(rule["note"]), "query" in rule["note"]) == ([], False)


def test_prometheus_own_texts_would_be_errors() -> None:
    """What this is for: it fills few of them as they are."""
    wrong = [
        name
        for name, (_, rule) in _rules(_plan()).items()
        if any(misread(rule["annotations"][key]) for key in ("description", "dashboard_url"))
    ]

    assert "TritonQpsAboveLimit" in wrong
    assert len(wrong) > 40


def test_the_language_is_that_of_the_fleet_file() -> None:
    """`notify.language`, with no receiver needed."""
    assert _kept()["TritonServerDown"].annotations["summary"] == "A Triton server cannot be scraped."
    assert (
        _kept("notify: {language: zh}\n")["TritonServerDown"].annotations["summary"]
        == "无法抓取 {{ $labels.replica }} 上的 Triton。"
    )


def test_prometheus_goes_on_with_the_records_alone() -> None:
    """Else it would fire what Nightingale fires; no record is lost."""
    groups = yaml.safe_load(_built()[RECORDS_PATH])["groups"]
    records, _ = render_rules(_plan())
    before = [rule for group in yaml.safe_load(records.text)["groups"] for rule in group["rules"]]

    assert [rule for group in groups for rule in group["rules"]] == [one for one in before if "record" in one]
    assert all(group["rules"] for group in groups)


def test_limits_as_rules_come_along() -> None:
    """For a fleet without `serve`, and in a folder of their own."""
    built = _built("limits_source: rules\n")

    assert sorted(built) == [
        "n9e/alerts.json",
        "n9e/prometheus/rules/objectives.rules.yml",
        "n9e/prometheus/rules/records.rules.yml",
    ]


TEXTS = [
    ('{{ $value | printf "%.4g" }}', '{{ $value | printf "%.4g" }}'),
    ("{{ $value | humanizeTimestamp }}", "{{ $value | toTime }}"),
    ("{{ 3600 | humanizeDuration }}", '{{ "3600" | humanizeDuration }}'),
    (
        '{{ with "up" | query }}{{ . | first | value | humanizePercentage }}{{ end }}',
        '{{ with "up" | query }}{{ . | first | value | toString | humanizePercentage }}{{ end }}',
    ),
    (
        '{{ printf "up{a=%q,b=%q} > 0" (print $labels.a) (print $labels.b) | urlquery }}',
        '{{ print "up{a=" (jsonMarshal $labels.a) ",b=" (jsonMarshal $labels.b) "} > 0" | urlquery }}',
    ),
    ("printf and value | humanize outside of actions", "printf and value | humanize outside of actions"),
    (
        '{{ with printf "x{y=\\"}}\\",z=%q}" (print $labels.z) | query }}{{ end }}',
        '{{ with print "x{y=\\"}}\\",z=" (jsonMarshal $labels.z) "}" | query }}{{ end }}',
    ),
]


@pytest.mark.parametrize(("prometheus", "nightingale"), TEXTS)
def test_texts_are_translated(prometheus: str, nightingale: str) -> None:
    """Word by word, and only inside of actions."""
    assert translated(prometheus) == nightingale
    assert misread(nightingale) == []


def test_what_cannot_be_translated_is_refused() -> None:
    """While building, not in the middle of the night."""
    with pytest.raises(RenderFailed, match="cannot fill"):
        translated('{{ printf "%s %q" (print $labels.a) (print $labels.b) | query }}')


IMPORTED = [
    ("for: 5m", 300),
    ("for: 90s", 90),
    ("for: 1h30m", 5400),
    ("for: 1d", 60),
    ("for: 0s", 60),
    ("keep_firing_for: 5m", 60),
]


@pytest.mark.parametrize(("line", "seconds"), IMPORTED)
def test_its_importer_of_prometheus_files_changes_times(line: str, seconds: int) -> None:
    """The table of what it makes of `for`; `keep_firing_for` and records are lost."""
    text = f"groups: [{{name: g, rules: [{{record: r, expr: up}}, {{alert: A, expr: up == 0, {line}}}]}}]"
    (rule,) = import_prometheus(text)

    assert (rule.name, rule.for_seconds, rule.recover_seconds) == ("A", seconds, 0)


@pytest.mark.parametrize(
    ("label", "severity"),
    [("critical", 1), ("page", 1), ("warning", 2), ("info", 3), ("none", 2), ("P1", 2)],
)
def test_its_importer_maps_severities(label: str, severity: int) -> None:
    """What it does not know is a warning, `none` too."""
    text = f"groups: [{{name: g, rules: [{{alert: A, expr: up, labels: {{severity: {label}}}}}]}}]"

    assert [one.severity for one in import_prometheus(text)] == [severity]


REFUSED = [
    ({"name": " "}, "name is blank"),
    ({"rule_config": {}}, "rule_config is blank"),
    ({"append_tags": ["a"]}, "AppendTags invalid"),
    ({"append_tags": ["a=1", "a=2"]}, "AppendTags has duplicate key"),
    ({"cron_pattern": "@every 0.5s"}, "invalid cron pattern"),
    ({"prom_for_duration": 2.5}, "prom_for_duration is no whole number"),
]


@pytest.mark.parametrize(("change", "why"), REFUSED)
def test_the_importer_of_its_json_refuses(change: dict[str, Any], why: str) -> None:
    """So that a field that is wrong would be seen here."""
    (first, *_) = json.loads(_built()[PATH])

    assert import_own(json.dumps([first | change]))[1] == {(first | change)["name"].strip(): why}


def test_two_of_one_name_are_one() -> None:
    """The second is refused; our alerts have names of their own."""
    (first, *_) = json.loads(_built()[PATH])

    assert import_own(json.dumps([first, first]))[1] == {first["name"]: "AlertRule already exists"}
