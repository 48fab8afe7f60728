"""What tools promise is what the command line prints: the same fields, with nothing beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import click
import pytest
from pydantic import TypeAdapter

from tritonobs.cli import group
from tritonobs.extensions.history.backtest import Backtest
from tritonobs.extensions.lint import catalogue
from tritonobs.extensions.mcp import schemas
from tritonobs.extensions.mcp.fields import markdown
from tritonobs.extensions.mcp.tools import OFFERED
from tritonobs.extensions.traces.slowest import ANSWER, Answer, Slow
from tritonobs.extensions.triage import judge
from tritonobs.limits.log import Entry
from tritonobs.timings import cause, episodes, measured, stages, top
from tritonobs.timings.ask import Unseen

SAVED = Path(__file__).parent.parent / "cli" / "transcripts"

ALIKE = [
    (judge.Part, schemas.RequestPart),
    (judge.Slowdown, schemas.Slowdown),
    (cause.Cause, schemas.Cause),
    (cause.Evidence, schemas.Evidence),
    (Unseen, schemas.Unread),
    (measured.Timing, schemas.Timing),
    (stages.Row, schemas.StageRow),
    (stages.StageTable, schemas.StageTable),
    (top.TopRow, schemas.ModelRow),
    (top.TopView, schemas.ModelsView),
    (Entry, schemas.LimitChange),
    (Backtest, schemas.Backtest),
    (episodes.Episode, schemas.Episode),
    (catalogue.Catalogue, schemas.Catalogue),
    (catalogue.Group, schemas.SeriesGroup),
    (catalogue.Series, schemas.Series),
    (catalogue.Misnamed, schemas.Misnamed),
    (Slow, schemas.SlowRequest),
]


@pytest.mark.parametrize(("printed", "promised"), ALIKE, ids=lambda one: one.__name__)
def test_fields_are_the_same(printed, promised):
    """A field that a command gains or loses shows here."""
    assert is_dataclass(printed)
    assert set(promised.model_fields) == {field.name for field in fields(printed)}


def test_a_verdict_has_its_links_and_questions_too():
    """The command adds them to what was judged."""
    assert set(schemas.Verdict.model_fields) == {field.name for field in fields(judge.Verdict)} | {
        "links",
        "questions",
    }


@pytest.mark.parametrize(
    ("words", "promised"),
    [
        (("triage", "--load", str(SAVED / "incident.json")), schemas.Verdict),
        (("triage", "--load", str(SAVED / "healthy.json")), schemas.Verdict),
        (("stages", "--load", str(SAVED / "incident.json")), tuple[schemas.StageTable, ...]),
        (("lint", "--catalogue"), schemas.Catalogue),
        (("limits", "list", "examples/fleet.yaml"), tuple[schemas.Limit, ...]),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) and isinstance(one[0], str) else "",
)
def test_what_is_printed_is_what_is_promised(words, promised):
    """Of the right types, and with no field that no schema has."""
    done = subprocess.run(
        [sys.executable, "-m", "tritonobs", *words, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent.parent,
    )

    assert TypeAdapter(promised).validate_python(json.loads(done.stdout), extra="forbid")


def test_the_page_of_the_answers_is_made_of_the_schemas():
    """`tritonobs mcp --answers` prints docs/answers.md; every part of every answer is in it."""
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")
    parts = {
        one.__name__
        for one in vars(schemas).values()
        if isinstance(one, type) and issubclass(one, schemas.Part) and one is not schemas.Part
    }

    assert page == markdown() + "\n"
    assert sorted(one for one in parts if f"### {one}\n" not in page) == []


TOOLS = {
    "triage": "triage",
    "stages": "stages",
    "top": "models",
    "traces slow": "slow_requests",
    "incidents list": "incidents",
    "incidents show": "incidents",
    "limits list": "limits",
    "limits history": "limit_history",
    "limits set": "set_limit",
    "limits backtest": "backtest",
    "lint": "explain_series",
}
"""Commands that print JSON, and the tools of the same data."""
WITHOUT_A_TOOL = {
    "validate": "the fleet file is its author's",
    "build": "it writes files",
    "limits suggest": "it sends load",
    "limits verify": "the log is on the machine of serve",
    "load": "it sends load",
    "drill": "it breaks a model",
}


def test_every_command_that_prints_json_has_a_tool_or_a_reason_for_none():
    """A new one shows here."""

    def found(command, path):
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                yield from found(command.get_command(click.Context(command), name), (*path, name))
        elif any("json" in (getattr(one.type, "choices", None) or ()) for one in command.params):
            yield " ".join(path)

    assert set(found(group, ())) <= {*TOOLS, *WITHOUT_A_TOOL}
    assert set(TOOLS.values()) <= {*OFFERED, "set_limit"}


def test_a_field_that_is_not_promised_is_seen():
    """The planted defect of the test above."""
    with pytest.raises(ValueError, match="Extra inputs"):
        TypeAdapter(schemas.Unread).validate_python({"what": "a", "why": "b", "when": 1}, extra="forbid")


def test_slow_requests_come_as_the_receiver_sends_them():
    """The list may be empty; its shape is that of `traces slow --format json`."""
    assert ANSWER.dump_python(Answer(models=(), requests=()), mode="json")["requests"] == []
