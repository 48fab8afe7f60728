"""What an alert says to people: every template is filled, every link leads somewhere."""

import re
import subprocess

import pytest
import yaml

from support.promtool import encode, needed
from tritonobs.spec.rules import ALERTS
from tritonobs.units import format_duration

# How promtool prints what it got instead of what the test expected, which is nothing.
GOT = re.compile(r"Annotations:\{(.*?)\}\s*(?:\n\s*\d+:|\n\s*\]|\])", re.DOTALL)
PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def firing_case(cases, alert):
    """A case in which the alert fires for one subject, and the minute at which it does."""
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


@pytest.mark.parametrize("alert", ALERTS)
def test_every_annotation_is_filled(alert, promtool, generated, cases, tmp_path):
    """Summary, description and both links have no hole and no error of a template in them."""
    case, minute = firing_case(cases, alert)

    said = annotations(promtool, generated(case.world.scrape_seconds), case, (alert, minute), tmp_path)

    assert set(said) == {"summary", "description", "runbook_url", "dashboard_url"}
    for text in said.values():
        assert not re.search(r"<error|<no value>|%!|\{\{|  ", text), text
    assert said["runbook_url"].endswith(f"/runbooks/{alert}")
    assert re.fullmatch(r"http://\S+", said["dashboard_url"])
    assert len(said["description"]) > len(said["summary"])
