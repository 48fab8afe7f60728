"""`incidents list | show` on a folder."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from tritonobs.delivery.payload import Alert
from tritonobs.errors import TritonobsError, Unreachable
from tritonobs.extensions.incidents import commands
from tritonobs.extensions.incidents.commands import incidents
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.incidents.join import State, join
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
    assert f"> tritonobs triage --load {folder / ident}.first.json  (readings: first)" in shown["text"]
    assert json.loads(shown["json"])["readings"] == {"first": f"{folder / ident}.first.json"}
    assert "<h1 " in shown["html"]
    assert "**in\\*spect gets too much**" in shown["markdown"]
    assert "- [ ] look who sends" in shown["markdown"]


@pytest.fixture(name="fleet")
def _fleet(tmp_path, kept):
    """A fleet file that names the folder, and where Prometheus and serve are."""
    folder, _ = kept
    file = tmp_path / "fleet.yaml"
    file.write_text(
        f"fleet: a\nincidents: {{folder: {folder}}}\n"
        'replicas: [{name: b, url: "http://c:1"}]\nmodels: {m: {}}\n'
        'addresses: {prometheus: "http://127.0.0.1:2", serve: "http://serve.shop:9900"}\n'
        "notify: {timezone: Asia/Shanghai}\n"
    )
    return file


SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def test_the_post_mortem_as_html_has_panels_of_the_boards(kept, fleet, monkeypatch):
    """One file that needs nothing else: no script, no address but links to serve; the fleet's time zone."""
    asked = []

    def draw(client, panels, models, *, span, zone):
        asked.append((client.address, panels[0], models, str(zone)))
        return [("Requests & more", SVG), ("Outcomes", SVG)]

    monkeypatch.setattr(commands, "answer", {"pictures": draw}.get)
    done = run("show", kept[1], "--fleet", fleet, "--format", "html")

    assert asked == [
        (
            "http://127.0.0.1:2",
            ("model", "Requests per second and their limit"),
            ("in*spect",),
            "Asia/Shanghai",
        )
    ]
    assert done.stderr == ""
    assert done.output.count("data:image/svg+xml;base64,") == 2
    assert "Requests &amp; more" in done.output
    assert "<script" not in done.output
    assert "04:26:40" in done.output
    addresses = re.findall(r'(?:href|src)="(?!data:)([^"]*)"', done.output)
    assert addresses
    assert all(one.startswith("http://serve.shop:9900/") for one in addresses), addresses


def _fails(error):
    def draw(*_, **__):
        raise error

    return draw


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        pytest.param(
            _fails(Unreachable("http://127.0.0.1:2 cannot be reached")), "cannot be reached", id="away"
        ),
        pytest.param(
            _fails(TritonobsError("pictures need matplotlib")), "need matplotlib", id="no matplotlib"
        ),
        pytest.param(lambda *_, **__: [], "there is no data of that time", id="forgotten"),
        pytest.param(None, "nothing here draws them", id="taken out"),
    ],
)
def test_without_pictures_the_page_says_the_rest(kept, fleet, monkeypatch, draw, said):
    """And the reason is printed beside it."""
    monkeypatch.setattr(commands, "answer", {"pictures": draw}.get)
    done = run("show", kept[1], "--fleet", fleet, "--format", "html")

    assert (done.exit_code, done.stdout.count("<h1 "), done.stdout.count("<img")) == (0, 1, 0)
    assert done.stderr.startswith("no pictures: ")
    assert said in done.stderr


def test_a_folder_alone_does_not_say_where_prometheus_and_serve_are(kept):
    """So there are neither pictures nor links that lead nowhere."""
    folder, ident = kept
    done = run("show", ident, "--folder", folder, "--format", "html")

    assert "name the fleet file (--fleet)" in done.stderr
    assert "href=" not in done.stdout
    assert "<li>TritonQpsAboveLimit</li>" in done.stdout


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
