"""Rules come out of the mixin as Prometheus reads them."""

import json
import re
from decimal import Decimal

import pytest

from tritonobs import assets
from tritonobs.errors import RenderFailed
from tritonobs.plan.rules import SCRAPES_PER_WINDOW
from tritonobs.render.rules import clock_knobs, evaluate_mixin, mixin_knobs
from tritonobs.units import parse_duration

BOARDS = assets.folder("dashboards") / "generated"


def test_mixin_alone_evaluates_with_its_own_knobs():
    """Without any config the mixin is complete: jsonnet people need no Python."""
    rules = evaluate_mixin({})

    assert {"records", "alerts"} == set(rules)


def test_more_than_twenty_rules_in_a_group_cannot_happen():
    """Every ruler takes 20 rules a group."""
    groups = [group for file in evaluate_mixin({}).values() for group in file["groups"]]

    assert {group["name"]: len(group["rules"]) for group in groups if len(group["rules"]) > 20} == {}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            {"shortWindow": "2m", "shortSeconds": 60},
            "shortSeconds is 60, but follows from shortWindow, which is 2m",
        ),
        ({"mediumSeconds": 90}, "mediumSeconds is 90, but follows from mediumWindow, which is 1m: leave"),
        ({"sloPeriodDays": 28}, "sloPeriodDays is 28, but follows from sloPeriod, which is 30d"),
        (
            {"scrapeSeconds": 30, "shortWindow": "1m"},
            "shortWindow is 1m; with a scrape every 30 s, allowed is 2m",
        ),
        ({"shortWindow": "3m", "mediumWindow": "2m"}, "mediumWindow is 2m, shorter than shortWindow"),
        ({"sloPeriod": "4w"}, "sloPeriod is 4w; write days, like 30d"),
        ({"sloPeriod": "6d"}, "sloPeriod is 6d; allowed are whole days from 7d to 90d"),
        ({"sloPeriod": "91d"}, "sloPeriod is 91d; allowed are whole days from 7d to 90d"),
        ({"shortWindow": "soon"}, 'found "soon"; allowed is a duration like 250ms, 30s'),
        ({"evaluationInterval": 15}, "found 15; allowed is a duration like"),
        ({"speed": 0.5}, "speed is 0.5; allowed is a number from 1"),
        ({"severities": {"TritonServerDwon": "info"}}, "severities: TritonServerDwon is not an alert"),
        (
            {"severities": {"TritonServerDown": "page"}},
            "found page; allowed are critical, warning, info, none",
        ),
    ],
)
def test_knobs_that_contradict_each_other_are_refused(config, says):
    """What follows from another knob need not be written, and must not say otherwise."""
    with pytest.raises(RenderFailed, match=re.escape(says)):
        evaluate_mixin(config)


def test_one_knob_moves_all_that_follows_from_it():
    """A window that is written reads with its own seconds; a slower scrape makes every window longer."""
    written = mixin_knobs({"shortWindow": "2m"})
    slow = mixin_knobs({"scrapeSeconds": 30})

    assert (written["shortSeconds"], written["mediumWindow"]) == (120, "2m")
    assert (slow["shortWindow"], slow["evaluationInterval"]) == ("2m", "30s")
    assert (slow["serverDownFor"], slow["sloInterval"], slow["gapHeldWindow"]) == ("1m30s", "30s", "1h30s")


@pytest.mark.parametrize(
    ("scrape", "short", "medium"),
    [
        pytest.param("1", "10s", "1m", id="no window is shorter than ten seconds"),
        pytest.param("5", "20s", "1m", id="five seconds give twenty"),
        pytest.param("15", "1m", "1m", id="fifteen seconds give a minute, the medium window too"),
        pytest.param("60", "4m", "4m", id="a minute gives four, still below the base window"),
    ],
)
def test_windows_hold_enough_scrapes(scrape, short, medium):
    """The short window holds four scrapes, the medium one is at least a minute."""
    knobs = mixin_knobs(clock_knobs(Decimal(scrape), Decimal(scrape)))

    assert (knobs["shortWindow"], knobs["mediumWindow"]) == (short, medium)
    assert knobs["shortSeconds"] >= SCRAPES_PER_WINDOW * int(scrape)


WINDOW = re.compile(r"(?<=\[)[0-9a-z]+(?=[\]:])|(?<=\boffset )[0-9a-z]+")


@pytest.fixture(name="clocks", scope="module")
def _clocks():
    """The rules as they are, and five times as fast."""
    clock = {"scrapeSeconds": 5}
    return [
        {
            rule.get("alert") or rule["record"]: {**rule, "interval": group["interval"]}
            for file in evaluate_mixin(clock | {"speed": speed}).values()
            for group in file["groups"]
            for rule in group["rules"]
        }
        for speed in (1, 5)
    ]


def test_rules_on_a_faster_clock_are_the_same_rules(clocks):
    """Names, labels and thresholds stay; waits are divided."""
    usual, fast = clocks

    assert usual.keys() == fast.keys()
    assert (usual["TritonStageSlow"]["for"], fast["TritonStageSlow"]["for"]) == ("5m", "1m")
    assert (usual["TritonServerDown"]["for"], fast["TritonServerDown"]["for"]) == ("30s", "6s")
    assert fast["TritonMetricsEmpty"]["expr"] == usual["TritonMetricsEmpty"]["expr"]
    name = "model_version_stage_reason:tritonobs_stage_errors:mean1h"
    assert fast[name]["expr"].endswith("[12m] offset 2m)")
    assert usual[name]["expr"].endswith("[1h] offset 10m)")


def test_no_window_forgets_the_clock(clocks):
    """On a faster clock every window of two minutes and more is shorter; a literal window would not be."""
    usual, fast = clocks

    def windows(rule):
        return [float(parse_duration(text)) for text in WINDOW.findall(rule["expr"])]

    forgotten = {
        name
        for name in usual
        for before, after in zip(windows(usual[name]), windows(fast[name]), strict=True)
        if before >= 120 and after > max(60, before / 5 + 10)
    }
    assert forgotten == set()


def test_no_group_is_evaluated_more_often_than_it_sees_scrapes(clocks):
    """A rehearsal does not evaluate between two scrapes."""
    assert {rule["interval"] for rule in clocks[1].values()} == {"5s", "10s", "12s", "24s", "48s", "1m"}


def test_severities_are_the_users():
    """The label changes, whatever group the alert stands in; the others keep theirs."""
    chosen = {"TritonQpsAboveLimit": "warning", "TritonErrorBudgetBurnMedium": "none"}

    alerts = [
        {
            rule["alert"]: rule["labels"]["severity"]
            for group in groups
            for rule in group["rules"]
            if "alert" in rule
        }
        for config in ({}, {"severities": chosen})
        for groups in [[group for file in evaluate_mixin(config).values() for group in file["groups"]]]
    ]

    assert alerts[1] == alerts[0] | chosen


def test_a_refused_config_is_our_error():
    """Jsonnet's own exceptions stay inside."""
    with pytest.raises(RenderFailed, match="rules could not be made"):
        evaluate_mixin({"shortWindow": {"a": 1}, "qpsWarningRatio": None, "runbookUrl": 3})


def test_numbers_are_written_as_people_write_them():
    """0.8 stays 0.8: no binary fraction reaches an expression or a text."""
    rules = [
        rule for file in evaluate_mixin({}).values() for group in file["groups"] for rule in group["rules"]
    ]
    texts = [text for rule in rules for text in (rule["expr"], *rule.get("annotations", {}).values())]

    assert [text for text in texts if re.search(r"\d\.\d{8,}", text)] == []


def test_the_example_is_a_whole_configuration():
    """What a jsonnet user starts from: rules with the example's knobs, and every board."""
    source = assets.folder("rules") / "example" / "monitoring.jsonnet"
    jsonnet = pytest.importorskip("_gojsonnet", reason="no gojsonnet here; run: make setup")
    files = json.loads(jsonnet.evaluate_file(str(source)))
    boards = {path.name: json.loads(path.read_text()) for path in BOARDS.glob("*.json")}

    assert {name: json.loads(files.pop(name)) for name in boards} == boards
    assert sorted(files) == ["alerts.rules.yml", "records.rules.yml"]
    assert "replica_model_version:triton_requests_succeeded:rate2m" in files["records.rules.yml"]
    assert "tritonobs_qps_limit" in files["records.rules.yml"]
    assert "0.7 * subject:tritonobs_qps_limit:held" in files["records.rules.yml"]
    assert "https://wiki.example.com/triton/TritonServerDown" in files["alerts.rules.yml"]
