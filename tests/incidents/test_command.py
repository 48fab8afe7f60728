"""`incidents list | show` on a folder."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tritonobs.delivery.payload import Alert
from tritonobs.extensions.incidents.commands import incidents
from tritonobs.extensions.incidents.join import State, join
from tritonobs.extensions.incidents.place import Fleet
from tritonobs.extensions.incidents.recorder import Moment, Recorder, entry_of
from tritonobs.timings.cause import Cause

BEGAN = 1_780_000_000.0


@pytest.fixture(name="kept")
def _kept(tmp_path):
    """A folder with one incident and its first reading; gives the folder and the id."""
    labels = {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": "in*spect"}
    one = Alert.model_validate(
        {"status": "firing", "labels": labels, "startsAt": "2026-05-28T20:26:40Z", "fingerprint": "aa"}
    )
    cause = Cause(
        check="qps_limit", place=("in*spect", ""), sentence="in*spect gets too much", confidence=0.9,
        next_steps=("look who sends",), since=BEGAN,
    )  # fmt: skip
    verdict = type("Verdict", (), {"causes": (cause,), "following": ()})()
    fleet = Fleet(edges={"in*spect": {}})
    step = join(State(), BEGAN + 30, [one], fleet, verdict)
    recorder = Recorder(tmp_path / "kept")
    (found,) = step.incidents
    recorder.keep(entry_of(found, BEGAN + 30))
    recorder.save(found.id, Moment.FIRST, lambda path: path.write_text("{}"), BEGAN + 30)
    return tmp_path / "kept", found.id


def run(*words):
    """The command, in this process."""
    return CliRunner().invoke(incidents, list(map(str, words)), catch_exceptions=False)


def test_the_list_has_every_incident(kept):
    """As a table, and as JSON."""
    folder, ident = kept

    table, values = run("list", "--folder", folder), run("list", "--folder", folder, "--format", "json")

    assert ident in table.output
    assert "in*spect" in table.output
    assert [one["id"] for one in json.loads(values.output)] == [ident]


def test_one_is_shown_with_cause_timeline_and_what_was_read(kept):
    """As lines, JSON, a page, and a draft of a post-mortem."""
    folder, ident = kept

    shown = {
        form: run("show", ident, "--folder", folder, "--format", form).output
        for form in ("text", "json", "html", "markdown")
    }

    assert "in*spect gets too much" in shown["text"]
    assert f"> tritonobs triage --load {folder / ident}.first.json  (what was read: first)" in shown["text"]
    assert json.loads(shown["json"])["readings"] == {"first": f"{folder / ident}.first.json"}
    assert "<h1 " in shown["html"]
    assert "**in\\*spect gets too much**" in shown["markdown"]
    assert "- [ ] look who sends" in shown["markdown"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["show", "nothing"], "'nothing' is not the id of an incident", id="no id"),
        pytest.param(["show", "20260101-0000-0000000000"], "has no incident", id="unknown"),
        pytest.param(["show", "../../etc/passwd"], "is not the id of an incident", id="a path"),
    ],
)
def test_what_is_not_there_is_said(kept, words, said):
    """Wrong usage, and no traceback."""
    folder, _ = kept

    done = run(*words, "--folder", folder)

    assert done.exit_code == 2
    assert said in done.output


def test_a_damaged_file_is_named_and_the_others_are_listed(kept):
    """Exit status 1."""
    folder, ident = kept
    (folder / "20260101-0000-0000000000.json").write_text("{")

    done = CliRunner().invoke(incidents, ["list", "--folder", str(folder)], standalone_mode=False)

    assert done.return_value == 1
    assert ident in done.output
    assert "20260101-0000-0000000000.json: is not an incident" in done.output


def test_a_fleet_file_that_keeps_none_says_so(tmp_path):
    """And a folder that is not there yet."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text('fleet: a\nreplicas: [{name: b, url: "http://c:1"}]\nmodels: {m: {}}\n')

    assert "incidents.folder names no folder" in run("list", "--fleet", fleet).output
    assert "there is no such folder" in run("list", "--folder", tmp_path / "none").output


def test_before_the_first_incident_nothing_is_kept(tmp_path):
    """The folder of a fleet file is made by serve, with the first incident."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        f"fleet: a\nincidents: {{folder: {tmp_path / 'kept'}}}\n"
        'replicas: [{name: b, url: "http://c:1"}]\nmodels: {m: {}}\n'
    )

    done = CliRunner().invoke(incidents, ["list", "--fleet", str(fleet)], standalone_mode=False)

    assert (done.return_value, done.output) == (0, "no incident is kept\n")
