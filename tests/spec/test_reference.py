"""The schema for editors and the tables for readers say what the loader takes."""

from __future__ import annotations

import os
from pathlib import Path

import jsonschema
import pytest
import yaml

from tritonobs.render.rules import mixin_knobs
from tritonobs.spec.load import read_text
from tritonobs.spec.reference import json_schema, markdown
from tritonobs.spec.rules import threshold_field

ROOT = Path(__file__).parents[2]
MARK = "<!-- From here on made by: tritonobs schema --markdown -->\n"
HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'


def test_the_page_holds_the_fields_as_they_are() -> None:
    """`TRITONOBS_GOLDEN=write` writes below the mark what `tritonobs schema --markdown` prints."""
    page = ROOT / "docs" / "reference.md"
    kept = page.read_text(encoding="utf-8").split(MARK)[0]
    whole = f"{kept}{MARK}\n{markdown(mixin_knobs({})).strip()}\n"
    if os.environ.get("TRITONOBS_GOLDEN") == "write":
        page.write_text(whole, encoding="utf-8")

    assert page.read_text(encoding="utf-8") == whole, (
        "TRITONOBS_GOLDEN=write pytest -q tests/spec/test_reference.py writes docs/reference.md"
    )


def test_every_field_says_what_it_is_for() -> None:
    """No row without a sentence."""
    rows = [line.split(" | ") for line in markdown(mixin_knobs({})).splitlines() if line.startswith("| `")]

    assert [row[0] for row in rows if not row[1].strip()] == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"kind": "seconds", "says": "A wait."}, 'found kind "seconds"; allowed is one of share, '),
        ({"says": "A wait."}, "found kind"),
        ({"kind": "wait"}, "says is missing"),
        ({"kind": "wait", "says": "A wait.", "why": None}, "why is missing"),
        ({"kind": "wait", "says": "A wait.", "value": None}, "value is missing"),
    ],
)
def test_a_threshold_that_is_not_whole_is_named(row: dict[str, str | None], said: str) -> None:
    """Who adds one reads the file, the row and what is allowed."""
    whole = {"knob": "queueSeconds", "value": 1, "why": "Long."} | row
    left = {name: value for name, value in whole.items() if value is not None}
    with pytest.raises(ValueError, match=r"thresholds[.]json, queueSeconds: ") as refused:
        threshold_field(left)

    assert said in str(refused.value)


def test_the_schema_is_one() -> None:
    """Of the dialect it names."""
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_the_examples_fit_the_schema_and_the_loader(path: Path) -> None:
    """An editor finds nothing wrong with what we ship."""
    text = path.read_text()

    jsonschema.validate(yaml.safe_load(text), json_schema())
    assert read_text(text, str(path)).findings == ()


ROUTE = "models: {{a: }}\nnotify: {{webhook: {{r: {{url_file: url}}}}, routes: [{{match: {}, to: {}}}]}}"
TAKEN = [
    pytest.param("models: {a: , b: {versions: {'1': }}}", id="nothing to say"),
    pytest.param("models: {a: {slos: {up: none}}}", id="a promise taken back"),
    pytest.param("models: {a: {qps_limit: unlimited}}", id="unlimited"),
    pytest.param("models: {p: {pipeline: bls, calls: {a: 2, b: {model: a}}}, a: }", id="calls in both forms"),
    pytest.param("models: {a: {slos: {up: {objective: 0.999}}}}", id="a ratio"),
    pytest.param(
        ROUTE.format("{severity: critical, model: [a, b], version: 1}", "r"), id="one text, several"
    ),
    pytest.param(ROUTE.format("{severity: critical}", "[r]"), id="a list of one"),
]


@pytest.mark.parametrize("text", TAKEN)
def test_short_forms_are_fine_for_both(text: str) -> None:
    """What the loader takes, an editor does not underline."""
    jsonschema.validate(yaml.safe_load(HEAD + text), json_schema())
    assert read_text(HEAD + text, "f").findings == ()


REFUSED = [
    pytest.param("models: {a: {qps_limit: -1}}", id="a negative limit"),
    pytest.param("models: {a: {qps_limit: }}", id="a value forgotten"),
    pytest.param("models: {a: {qps_limits: 1}}", id="a misspelt field"),
    pytest.param("models: {a: {versions: {v1: {}}}}", id="a version that is none"),
    pytest.param("models: {a: {pipeline: ensembel}}", id="a misspelt word"),
    pytest.param("models: {}", id="no models"),
    pytest.param(ROUTE.format("{severity: []}", "r"), id="no values of a label"),
    pytest.param(ROUTE.format("{severity: {a: b}}", "r"), id="a mapping for a label"),
    pytest.param(ROUTE.format("{severity: critical}", "[]"), id="a route to no receiver"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_mistakes_are_mistakes_for_both(text: str) -> None:
    """What the loader refuses, an editor underlines."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(HEAD + text), json_schema())
    assert read_text(HEAD + text, "f").findings
