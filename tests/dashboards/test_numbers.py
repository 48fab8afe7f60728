"""What a panel shows is what happened: windows, clamps, and errors that count once."""

from __future__ import annotations

import re

import pytest

from tritonobs.render.rules import evaluate_mixin

# Told by the fleet file: the same for hours.
CONSTANT = {"slo:objective:ratio", "slo:error_budget:ratio"}
WINDOW = re.compile(r"(?:(?<=[a-z_])|(?<=\[))(\d+[smh])\b")
IN_TITLE = re.compile(r", (\d+) (s|min|h)$")


@pytest.fixture(name="intervals", scope="module")
def _intervals():
    """How often each record is evaluated."""
    groups = evaluate_mixin({})["records"]["groups"]
    return {
        rule["record"]: group["interval"] for group in groups for rule in group["rules"] if "record" in rule
    }


def intervals_of(expr, intervals):
    """How often the records of a query are evaluated, but for those that hardly change."""
    text = re.sub(r"\[[^\]]*\]", "", expr)
    names = set(re.findall(r"[a-z_]+(?::\w+)+", text)) - CONSTANT
    return {intervals[name] for name in names if name in intervals and not name.endswith((":held", ":info"))}


def test_no_query_divides_what_is_recorded_at_different_times(queries, intervals):
    """A numerator two minutes old over a fresh denominator reads a hundredfold where traffic changes."""
    wrong = {
        (query.board, query.place)
        for query in queries
        if "/" in re.sub(r'"[^"]*"', "", query.expr) and len(intervals_of(query.expr, intervals)) > 1
    }

    assert wrong == set()


def test_the_check_of_intervals_sees_the_old_query(intervals):
    """`Replica against the fleet` of release 0.5.0."""
    name = "model_version:triton_request_duration_seconds:mean5m"

    assert intervals_of(f"replica_{name} / on (model) group_left () {name}", intervals) == {"30s", "2m"}


def test_titles_say_the_window_of_their_numbers(panels):
    """Five minutes and twenty seconds are different stories."""
    silent = []
    for board, panel in panels:
        windows = set(WINDOW.findall(" ".join(target["expr"] for target in panel["targets"])))
        said = IN_TITLE.search(panel["title"])
        if panel["type"] != "table" and len(windows) == 1:
            expected = windows.pop().replace("m", " min").replace("s", " s").replace("h", " h")
            if not said or f"{said[1]} {said[2]}" != expected:
                silent.append((board, panel["title"], expected))

    assert silent == []


def test_limits_are_drawn_in_the_window_that_the_alert_reads(panels):
    """A burst that pages is not 54 % on the board."""
    rules = [
        rule for file in evaluate_mixin({}).values() for group in file["groups"] for rule in group["rules"]
    ]
    (alert,) = [rule["expr"] for rule in rules if rule.get("alert") == "TritonQpsAboveLimit"]
    drawn = {
        name
        for _, panel in panels
        if "limit" in panel["title"].lower()
        for target in panel["targets"]
        for name in re.findall(r"subject:triton_requests_offered:\w+", target["expr"])
    }

    assert drawn == {"subject:triton_requests_offered:rate1m"}
    assert drawn <= set(re.findall(r"subject:triton_requests_offered:\w+", alert))


def test_what_is_stacked_is_counted_once(panels):
    """A pipeline counts an error of the model it calls, too: such lines are not added up."""
    stacked = {
        (board, panel["title"])
        for board, panel in panels
        if panel["fieldConfig"]["defaults"].get("custom", {}).get("stacking", {}).get("mode") == "normal"
        for target in panel["targets"]
        if "stage_errors" in target["expr"] and board != "model"
    }

    assert stacked == set()


def test_what_an_axis_ends_at_is_where_the_value_ends(panels):
    """A bar at its end beside the words `-14,814 %` is no number that anybody can read."""
    for board, panel in panels:
        defaults = panel["fieldConfig"]["defaults"]
        if defaults.get("min") == -1:
            assert all("clamp_min" in target["expr"] for target in panel["targets"]), (board, panel["title"])
            assert "-1" in str(defaults.get("mappings")) or panel["type"] != "bargauge"


def test_a_share_of_time_is_at_most_all_of_it():
    """`Model instances busy` cannot exceed 100 %: the record itself is cut there."""
    rules = [rule for group in evaluate_mixin({})["records"]["groups"] for rule in group["rules"]]
    (busy,) = [
        rule["expr"] for rule in rules if rule.get("record") == "model_version:tritonobs_workers_busy:ratio5m"
    ]

    assert busy.startswith("clamp_max(")
    assert busy.endswith("1\n)")


def test_texts_fit_both_themes(panels):
    """More is darker on a light ground and brighter on a dark one."""
    themed = re.compile(r"\bdark(er)?\b|\bbright(er)?\b", re.IGNORECASE)

    assert [panel["title"] for _, panel in panels if themed.search(panel["description"])] == []
