"""What an alert says to people: every template is filled, every link leads somewhere."""

import re
import subprocess
from copy import deepcopy
from dataclasses import replace

import pytest
import yaml

from support.case import Case, needed
from support.promtool import encode
from support.simulate import World
from tritonobs.spec.rules import ALERTS
from tritonobs.units import format_duration

# How promtool prints what it got instead of what the test expected, which is nothing.
GOT = re.compile(r"Annotations:\{(.*?)\}\s*(?:\n\s*\d+:|\n\s*\]|\])", re.DOTALL)
PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
BURNT = {
    "TritonErrorBudgetBurnSlow": ("slo:error_budget_burn_slow:ratio",),
    "TritonErrorBudgetBurnLong": ("slo:error_budget_burn_long:ratio",),
    "TritonErrorBudgetExhausted": (
        "slo:period_error_budget_spent:ratio",
        "slo:period_error_budget_spent:burn_rate",
    ),
}
"""What alerts that need days of errors read at the end of them; the days take promtool half a minute."""


def burnt(alert):
    """The end of days of errors, and the minute at which the alert fires."""
    own = {"model": "nms", "version": "1"}
    world = World(minutes=20).gauge("subject:tritonobs_owner:info", 1, **own)
    at_the_end = {
        "slo:error_budget:ratio": 0.001,
        "slo:period_error_budget_remaining:ratio": 0.4,
        "slo:time_to_exhaustion:seconds": 86_400,
    }
    for name, value in (at_the_end | dict.fromkeys(BURNT[alert], 10)).items():
        world.gauge(name, value, **own, slo="availability")
    given = tuple(name.partition("{")[0] for name in world.series)
    return Case(says="days of errors", world=world, rules=(alert,), given=given, checks=()), 15


def firing_case(cases, alert):
    """A case in which the alert fires for one subject, and the minute at which it does."""
    if alert in BURNT:
        return burnt(alert)
    for case in sorted(
        (case for file in cases.values() for case in file), key=lambda case: len(case.world.times)
    ):
        for check in case.checks:
            if len(check.samples) == 1 and f'alertname="{alert}"' in next(iter(check.samples)):
                return case, check.minute
    raise LookupError(f"no case fires {alert}")


def annotations(promtool, groups, case, at, folder):
    """The annotations of an alert that fires at a minute, as promtool expands them; `at` is both."""
    alert, minute = at
    used = needed(groups, (*case.rules, alert), case.given)
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": used}), encoding="utf-8")
    interval = format_duration(case.world.scrape_seconds)
    series = [{"series": name, "values": encode(values)} for name, values in case.world.series.items()]
    asked = {"alertname": alert, "eval_time": format_duration(minute * 60), "exp_alerts": []}
    test = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": interval,
        "group_eval_order": [group["name"] for group in used],
        "tests": [{"interval": interval, "input_series": series, "alert_rule_test": [asked]}],
    }
    (folder / "test.yml").write_text(yaml.safe_dump(test), encoding="utf-8")
    done = subprocess.run(
        [promtool, "test", "rules", folder / "test.yml"], capture_output=True, text=True, check=False
    )
    found = GOT.search(done.stdout + done.stderr)
    assert found, done.stdout + done.stderr
    return dict(PAIR.findall(found[1]))


@pytest.fixture(name="says")
def _says(promtool, generated, tmp_path):
    """The annotations of an alert that fires in a case at a minute."""
    return lambda case, alert, minute: annotations(
        promtool, generated(case.world.scrape_seconds), case, (alert, minute), tmp_path
    )


@pytest.mark.parametrize("alert", ALERTS)
def test_every_annotation_is_filled(alert, cases, says):
    """Summary, description and both links have no hole and no error of a template in them."""
    case, minute = firing_case(cases, alert)

    said = says(case, alert, minute)

    assert set(said) == {"summary", "description", "runbook_url", "dashboard_url"}
    for text in said.values():
        assert not re.search(r"<error|<no value>|%!|\{\{|  ", text), text
    assert said["runbook_url"].endswith(f"/runbooks/{alert}")
    assert re.fullmatch(r"http://\S+", said["dashboard_url"])
    assert len(said["description"]) > len(said["summary"])


@pytest.mark.parametrize(
    ("rates", "stage", "reasons"),
    [
        (
            {"corrupt": 0.2, "late": 0.1, "BACKEND": 0.5},
            "",
            [" Most frequent reason: corrupt, stage decode."],
        ),
        ({"BACKEND": 0.5, "OTHER": 0.1}, "", [" Most frequent reason: BACKEND."]),
        ({"corrupt": 0, "BACKEND": 0}, "", []),
        ({"corrupt": 0.2, "BACKEND": 0.5}, "total", []),
    ],
    ids=["of the model's own", "else Triton's", "none", "a page about latency has none"],
)
def test_a_page_about_failures_names_the_most_frequent_reason(says, generated, *, rates, stage, reasons):
    """The reasons of the model's stages come first. `stage` is that of the SLO, which "" has not."""
    own = {"model": "nms", "version": "1"}
    world = World(minutes=3)
    slo = {**own, "slo": "a"}
    world.gauge("subject:tritonobs_owner:info", 1, **own).gauge("slo:error_budget:ratio", 0.01, **slo)
    burns, near = "slo:error_budget_burn_fast:ratio", "slo:error_budget_burn_fast:near"
    world.gauge(burns, 10, **slo).gauge(near, 100, **slo, near="bad").gauge(
        near, 10, **slo, sloth_window="1h"
    )
    of_stages = "model_version_stage_reason:tritonobs_stage_errors:rate5m"
    recorded = (rule.get("record", "") for group in generated(15) for rule in group["rules"])
    of_triton = next(
        name for name in recorded if name.startswith("model_version_reason:triton_requests_failed:rate")
    )
    counted = "slo:tritonobs_counted:info"
    world.gauge(counted, 1, **slo, **({"stage": stage} if stage else {}))
    for reason, rate in rates.items():
        if reason.isupper():
            world.gauge(of_triton, rate, **own, reason=reason)
        else:
            world.gauge(of_stages, rate, **own, stage="decode", reason=reason)
    given = tuple({name.partition("{")[0] for name in world.series} | {of_stages, of_triton})
    alert = "TritonErrorBudgetBurnFast"
    case = Case(says="one burns", world=world, rules=(alert,), given=given, checks=())

    said = says(case, alert, 2)

    assert re.findall(r" Most frequent reason[^.]*\.", said["description"]) == reasons


@pytest.mark.parametrize("alert", ["TritonobsDeliveryFailing", "TritonobsRobotMuted"])
@pytest.mark.parametrize(("chat", "named"), [("feishu", "Robot oncall (feishu) "), ("", "Robot oncall ")])
def test_an_alert_about_a_robot_names_its_chat(says, cases, *, alert, chat, named):
    """Where serve says it; an older serve does not."""
    case, minute = firing_case(cases, alert)
    world = deepcopy(case.world)
    if chat:
        world.gauge("tritonobs_robot_info", 1, robot="oncall", chat=chat)

    said = says(replace(case, world=world), alert, minute)

    assert said["description"].startswith(named)
    assert ("(feishu)" in said["description"]) == bool(chat)
