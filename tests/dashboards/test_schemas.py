"""Boards are what Grafana 11.2, 12 and 13 store: checked against the types of Grafana's own package.

The schemas are made of `@grafana/schema` (11.2.0, 12.4.0, 13.2.0) with ts-json-schema-generator: `Options`
and `FieldConfig` of each type of panel, `Dashboard` of 11.2. From a newer package (`npm pack`) they come with
`ts-json-schema-generator --path …PanelCfg_types.gen.d.ts --type Options --no-type-check --jsDoc none`.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import jsonschema
import pytest

SCHEMAS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "schemas").glob("*.json"))
}
# What the data source of Prometheus keeps with an annotation and a variable, beside what all sources have.
OF_PROMETHEUS = {"expr", "step", "textFormat", "titleFormat", "useValueForTime", "definition"}
# Asked for by 12 and 13; 11.2 has no use for it.
NEWER = {("bargauge", "legend")}


def wrong(schema, value):
    """What the schema says against the value, with where."""
    return sorted(
        f"{'/'.join(map(str, error.path))}: {error.message[:120]}"
        for error in jsonschema.Draft7Validator(schema).iter_errors(value)
    )


def checked(schemas, panel, *, oldest):
    """What is wrong with the options and the field configuration of a panel."""
    of_type = schemas[panel["type"]]
    options = {
        key: value
        for key, value in panel["options"].items()
        if not (oldest and (panel["type"], key) in NEWER)
    }
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    found = wrong(of_type["options"], options)
    return found + (wrong(of_type["custom"], custom) if "custom" in of_type else list(custom))


@pytest.mark.parametrize("release", SCHEMAS)
def test_panels_are_what_grafana_stores(panels, release):
    """Every option is known and of the right type, and none is missing."""
    schemas, oldest = SCHEMAS[release], release == "grafana-11.2"
    found = {
        (board, panel["title"]): checked(schemas, panel, oldest=oldest)
        for board, panel in panels
        if checked(schemas, panel, oldest=oldest)
    }

    assert found == {}


def test_boards_are_what_grafana_stores(boards):
    """Links, rows, variables and marks, by the type of a whole dashboard."""
    schema = SCHEMAS["grafana-11.2"]["dashboard"]["dashboard"]
    for name, board in boards.items():
        bare = deepcopy(board)
        for one in (*bare["annotations"]["list"], *bare["templating"]["list"]):
            for key in OF_PROMETHEUS & set(one):
                del one[key]

        assert wrong(schema, bare) == [], name


def test_all_three_releases_are_there():
    """The oldest that we name, and the newest of the two after it."""
    assert list(SCHEMAS) == ["grafana-11.2", "grafana-12.4", "grafana-13.2"]


def test_the_schema_version_is_that_of_the_oldest_release(boards):
    """39 is 11.2's: it migrates nothing, and newer ones bring it up to date themselves."""
    assert {board["schemaVersion"] for board in boards.values()} == {39}


@pytest.mark.parametrize(
    ("sort", "key", "value"),
    [("table", "footer", {"show": False}), ("heatmap", "showValue", "sometimes"), ("stat", "textMode", None)],
)
def test_an_option_that_grafana_does_not_know_is_seen(panels, sort, key, value):
    """The footer of release 0.5.0, a word that is none, a value that is missing."""
    panel = deepcopy(next(panel for _, panel in panels if panel["type"] == sort))
    panel["options"][key] = value

    assert checked(SCHEMAS["grafana-13.2"], panel, oldest=False) != []
