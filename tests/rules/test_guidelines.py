"""What `mixtool lint` asks of a mixin's alerts (monitoring.mixins.dev), for machines that cannot have it."""

import re

import pytest

from tritonobs.render.rules import evaluate_mixin

CAMEL_CASE = re.compile(r"^([A-Z]+[a-z0-9]+)+$")
TEMPLATE = re.compile(r"\{\{.*\}\}")
SENTENCE = re.compile(r"^[A-Z].*\.$")


def offences(rule):
    """What is wrong with an alert, as mixtool would see it."""
    told = rule.get("annotations", {})
    summary, description = told.get("summary", ""), told.get("description", "")
    if not CAMEL_CASE.match(rule["alert"]):
        yield "the name is not in camel case"
    if rule.get("labels", {}).get("severity") not in {"critical", "warning", "info"}:
        yield "the severity is none of critical, warning and info"
    if not SENTENCE.match(summary):
        yield "the summary does not begin with a capital letter and end with a period"
    if TEMPLATE.search(summary):
        yield "the summary has a template"
    if not TEMPLATE.search(description):
        yield "the description has no template"


@pytest.mark.parametrize(
    ("change", "offence"),
    [
        ({"alert": "tritonDown"}, "the name is not in camel case"),
        ({"labels": {"severity": "none"}}, "the severity is none of critical, warning and info"),
        ({"summary": "{{ $labels.model }} is slow."}, "the summary has a template"),
        (
            {"summary": "tritonobs is slow."},
            "the summary does not begin with a capital letter and end with a period",
        ),
        ({"summary": "It is slow"}, "the summary does not begin with a capital letter and end with a period"),
        ({"description": "It is slow."}, "the description has no template"),
    ],
)
def test_an_offence_is_seen(change, offence):
    """An alert that is right but for one thing is wrong for that."""
    told = {"summary": "It is slow.", "description": "{{ $value }} is slow."}
    right = {"alert": "TritonDown", "labels": {"severity": "info"}, "annotations": told}
    annotations = {**told, **{key: text for key, text in change.items() if key in told}}
    others = {key: one for key, one in change.items() if key not in told}

    assert list(offences(right)) == []
    assert offence in list(offences({**right, **others, "annotations": annotations}))


def test_every_alert_follows_the_guidelines():
    """Names, severities, summaries and descriptions."""
    groups = evaluate_mixin({"tier": "global"})["alerts"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]

    assert {rule["alert"]: told for rule in rules if (told := list(offences(rule)))} == {}
