"""Boards say what they show, in names that exist, and agree with the rules."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tritonobs import assets, names, programs
from tritonobs.render.grafana import board_text, load_boards
from tritonobs.render.rules import evaluate_mixin, mixin_knobs

ROOT = Path(__file__).parents[2]
LISTING = ("by", "without", "on", "ignoring", "group_left", "group_right")
PROMQL_WORDS = {
    *LISTING,
    "and",
    "or",
    "unless",
    "bool",
    "offset",
}
# Prometheus' own series, and those of its and Alertmanager's pages.
OF_PROMETHEUS = {
    "ALERTS",
    "up",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "prometheus_rule_group_last_duration_seconds",
    "prometheus_rule_group_interval_seconds",
    "prometheus_rule_group_iterations_missed_total",
    "prometheus_rule_evaluation_failures_total",
    "prometheus_tsdb_head_series",
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
    "alertmanager_notifications_total",
    "alertmanager_notifications_failed_total",
}
# Triton's catalogue as far as `names` has no use for it.
OF_TRITON = {
    "nv_cpu_memory_used_bytes",
    "nv_cpu_memory_total_bytes",
    "nv_pinned_memory_pool_used_bytes",
    "nv_pinned_memory_pool_total_bytes",
}
# kube-state-metrics'.
OF_KUBERNETES = {
    "kube_deployment_spec_replicas",
    "kube_deployment_status_replicas_available",
    "kube_statefulset_replicas",
    "kube_statefulset_status_replicas_ready",
    "kube_horizontalpodautoscaler_status_desired_replicas",
    "kube_horizontalpodautoscaler_spec_max_replicas",
}


def series_in(expr):
    """The names of series in a query: what is left without strings, labels, ranges and functions."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', "", expr)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", text)
    text = re.sub(rf"\b({'|'.join(LISTING)})\s*\([^)]*\)", "", text)
    text = re.sub(r"\b\d+(\.\d+)?[smhd]?\b", "", text)
    return {word for word in re.findall(r"[A-Za-z_:][\w:]*(?!\w|\s*\()", text) if word not in PROMQL_WORDS}


def filled(expr):
    """The query with every variable replaced, as Grafana would send it."""
    text = expr.replace("$__rate_interval", "1m").replace("$__interval", "1m").replace("$__range", "1h")
    return re.sub(r"\$\w+", ".*", text)


def test_every_board_of_the_list_is_built(boards):
    """Eight boards, their uids as alerts link to them."""
    assert {name: board["uid"] for name, board in boards.items()} == {
        name: f"tritonobs-{name}" for name in names.BOARDS
    }


def test_alerts_link_to_boards_and_variables_that_exist(boards):
    """A link in a message leads somewhere: the board is there and knows the variables it is handed."""
    rules = evaluate_mixin({"grafanaUrl": "https://grafana"})
    links = {
        rule["annotations"]["dashboard_url"]
        for file in rules.values()
        for group in file["groups"]
        for rule in group["rules"]
        if "dashboard_url" in rule.get("annotations", {})
    }
    uids = {board["uid"]: {one["name"] for one in board["templating"]["list"]} for board in boards.values()}

    assert links
    for link in links:
        boards_named = re.findall(r"https://grafana/d/([\w-]+)", link)
        assert set(boards_named) <= set(uids), link
        assert set(re.findall(r"var-(\w+)=", link)) <= uids[boards_named[0]], link


def test_every_panel_says_what_it_shows_and_what_good_looks_like(panels):
    """Title, description with "Good:", and where the numbers come from."""
    silent = [
        (board, panel["title"])
        for board, panel in panels
        if not panel["title"] or "Good:" not in panel["description"] or "From " not in panel["description"]
    ]

    assert silent == []


def test_titles_are_unique_on_a_board(panels):
    """Who says "the panel Latency P99" means one."""
    seen = [(board, panel["title"]) for board, panel in panels]

    assert len(seen) == len(set(seen))


def test_every_signal_is_on_a_board():
    """A signal that no board draws is forgotten, or of no use."""
    folder = assets.folder("dashboards")
    declared = {
        f"{path.stem}.{name}"
        for path in folder.glob("signals/*.py")
        for name in re.findall(r"^([A-Z_]+) = Signal\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    drawn = {
        name
        for path in folder.glob("*.dashboard.py")
        for name in re.findall(r"\b\w+\.[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }

    assert len(declared) > 50
    assert declared <= drawn


def test_every_signal_and_row_of_an_extension_is_on_a_board(boards):
    """A row that follows no row of its board would be on none."""
    for path in assets.folder("dashboards").glob("extensions/[a-z]*.py"):
        text = path.read_text(encoding="utf-8")
        declared, rows = text.split("\nADDED: Final = (\n")
        assert set(re.findall(r"^([A-Z_0-9]+) = \w+\(", declared, re.MULTILINE)) <= set(
            re.findall(r"\w+", rows)
        )
        placed = zip(re.findall(r'board="(\w+)"', rows), re.findall(r'row\(\s*"([^"]+)"', rows), strict=True)
        for board, title in placed:
            headlines = [panel["title"] for panel in boards[board]["panels"] if panel["type"] == "row"]
            assert title in headlines, (path.name, board, title)


def test_every_series_exists(queries, records):
    """A board names only what the rules record, what we emit, and what Triton and Prometheus publish."""
    ours = {value for value in vars(names).values() if isinstance(value, str)}
    ours |= {f"{name}_bucket" for name in ours} | {"tritonobs_flush_seconds_total"}
    known = records | ours | OF_PROMETHEUS | OF_TRITON | OF_KUBERNETES
    unknown = {
        (query.board, query.place, name)
        for query in queries
        for name in series_in(query.expr)
        if name not in known
    }

    assert unknown == set()


def test_a_name_that_is_wrong_would_be_seen():
    """The finder of names finds names, functions and labels being none."""
    expr = 'sum by (a, le) (rate(nv_typo_total{a="b_c"}[5m])) / on (a) group_left () other:thing:rate5m > 0.5'

    assert series_in(expr) == {"nv_typo_total", "other:thing:rate5m"}


def test_variables_in_queries_are_on_the_board(boards, queries):
    """A query with a variable that the board lacks would find nothing."""
    known = {name: {one["name"] for one in board["templating"]["list"]} for name, board in boards.items()}
    missing = {
        (query.board, query.place, word)
        for query in queries
        for word in re.findall(r"\$([a-z_]\w*)", query.expr)
        if not word.startswith("__") and word not in known[query.board]
    }

    assert missing == set()


def test_variables_match_as_regular_expressions(queries):
    """`=~` takes one value, several and all; `=` takes only one."""
    wrong = {(query.board, query.place) for query in queries if re.search(r'(?<!~)"\$[a-z]', query.expr)}

    assert wrong == set()


def test_a_variable_asks_only_for_those_before_it(boards):
    """Choices are narrowed from left to right."""
    for board in boards.values():
        before = {"datasource"}
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                assert set(re.findall(r"\$([a-z]\w*)", variable["query"])) <= before
            before.add(variable["name"])


def test_promtool_reads_every_query(queries, tmp_path):
    """PromQL, by Prometheus' own parser, all at once."""
    rules = [
        {"record": f"query:{place}:x", "expr": filled(query.expr)} for place, query in enumerate(queries)
    ]
    groups = [{"name": f"g{start}", "rules": rules[start : start + 50]} for start in range(0, len(rules), 50)]
    (tmp_path / "all.yml").write_text(json.dumps({"groups": groups}))
    done = subprocess.run(
        [programs.find("promtool"), "check", "rules", "all.yml"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


def test_committed_boards_are_current(boards):
    """`python dashboards/generate.py` has been run since the last change."""
    folder = assets.folder("dashboards") / "generated"
    committed = {path.name: path.read_text() for path in folder.glob("*.json")}

    assert committed == {f"{board['uid']}.json": board_text(board) for board in boards.values()}


@pytest.mark.parametrize("name", names.BOARDS)
def test_grafanalib_reads_the_boards_too(name, tmp_path):
    """`generate-dashboard` of grafanalib finds the module-level `dashboard`."""
    folder = assets.folder("dashboards")
    done = subprocess.run(
        [sys.executable, "-c", "from grafanalib._gen import generate_dashboard_script as main; main()",
         "-o", str(tmp_path / "x.json"), str(folder / f"{name}.dashboard.py")],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "x.json").read_text())["uid"] == names.board_uid(name)


def test_lines_stand_where_alerts_begin():
    """The thresholds drawn on boards are those of the rules, also those that a fleet file sets."""
    usual, chosen = (
        load_boards({"mixin": mixin_knobs(knobs)})["model"] for knobs in ({}, {"busyRatio": 0.77})
    )

    def drawn(board):
        steps = [
            panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
            for panel in board["panels"][1:]
            if "fieldConfig" in panel
        ]
        return {step["value"] for row in steps for step in row}

    assert 0.9 in drawn(usual)
    assert drawn(chosen) - drawn(usual) == {0.77}


def test_a_stage_keeps_its_colour(panels):
    """Whatever the board, one stage name has one colour."""
    colours = {}
    for _, panel in panels:
        for override in panel["fieldConfig"]["overrides"]:
            found = re.fullmatch(r"/\(\^\|\\s\)(\w+)\$/", str(override["matcher"]["options"]))
            for one in override["properties"] if found else ():
                colours.setdefault(found[1], set()).add(one["value"]["fixedColor"])

    assert {"decode", "infer", "suppress", "total"} <= set(colours)
    assert {name: len(values) for name, values in colours.items() if len(values) > 1} == {}


def test_boards_refresh_and_share_a_crosshair(boards):
    """One crosshair for all graphs; a refresh for whoever is on call."""
    for board in boards.values():
        assert (board["graphTooltip"], board["refresh"]) == (1, "30s")


def test_panels_do_not_overlap(boards):
    """Every panel has its own place on the grid of 24 columns."""
    for board in boards.values():
        cells = [
            (column, row)
            for panel in board["panels"]
            for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for row in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        assert len(cells) == len(set(cells))
        assert max(column for column, _ in cells) < 24
