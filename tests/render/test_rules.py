"""Rules come out of the mixin as Prometheus reads them."""

import re

import pytest

from tritonobs.errors import RenderFailed
from tritonobs.render.rules import evaluate_mixin


def test_mixin_alone_evaluates_with_its_own_knobs():
    """Without any config the mixin is complete: jsonnet people need no Python."""
    rules = evaluate_mixin({})

    assert {"records", "alerts"} == set(rules)


def test_more_than_twenty_rules_in_a_group_cannot_happen():
    """Every ruler takes 20 rules a group."""
    groups = [group for file in evaluate_mixin({}).values() for group in file["groups"]]

    assert {group["name"]: len(group["rules"]) for group in groups if len(group["rules"]) > 20} == {}


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
