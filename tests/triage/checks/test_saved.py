"""Snapshots as files: judged again, they say the same."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tritonobs.clients.prometheus import FiringAlert, Reading, Series, Target
from tritonobs.clients.triton import EnsembleStep, ModelConfig, RepositoryEntry
from tritonobs.errors import SnapshotUnusable
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.saved import load_snapshot, save_snapshot
from tritonobs.extensions.triage.snapshot import ReplicaState, Snapshot
from tritonobs.timings.ask import Unseen
from tritonobs.timings.promql import Span

if TYPE_CHECKING:
    from conftest import Fleet

HOSTILE = 'a"b{}\n☃'


def test_a_saved_snapshot_comes_back_whole(fleet: Fleet, tmp_path: Path) -> None:
    """Every field, infinities and hostile names too: nothing is lost on the way to a colleague."""
    config = ModelConfig(
        name=HOSTILE,
        platform="ensemble",
        max_batch_size=8,
        max_queue_delay_seconds=0.01,
        decoupled=False,
        steps=(EnsembleStep(model="a", version=-1),),
        parameters={"k": "v"},
    )
    entry = RepositoryEntry(name=HOSTILE, version="1", state="READY", reason="")
    fleet.now.put("p99", float("inf"), model=HOSTILE, version="1", stage="total")
    snapshot = replace(
        fleet.snapshot(),
        alerts=(FiringAlert(name="A", state="firing", active_at="t", value=1.0, labels={}, annotations={}),),
        replicas=(ReplicaState(address="http://a", ready=True, entries=(entry,), configs=(config,)),),
        trends={"stage": (Series(labels={"model": HOSTILE}, points=((1.0, 2.0), (2.0, float("inf")))),)},
        usual={"p99": (Series(labels={"model": HOSTILE}, points=((1.0, 0.5),)),)},
        unseen=(Unseen(what="x", why="y"),),
    )

    save_snapshot(snapshot, tmp_path / "s.json")

    assert load_snapshot(tmp_path / "s.json") == snapshot


NUMBERS = st.floats()
MOMENTS = st.floats(min_value=0, max_value=4e9)
WORDS = st.text(max_size=8)
LABELS = st.dictionaries(WORDS, WORDS, max_size=3)
SPANS = st.tuples(MOMENTS, st.floats(min_value=1, max_value=1e6)).map(
    lambda pair: Span(start=pair[0], end=pair[0] + pair[1])
)


def _some(of: type, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    """A few values of a dataclass: the named fields by strategies of their own, texts for the others."""
    every = {field.name: fields.get(field.name, WORDS) for field in dataclasses.fields(of)}
    return st.lists(st.builds(of, **every), max_size=2).map(tuple)


def _by_name(values: st.SearchStrategy[tuple[object, ...]]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(WORDS, values, max_size=2)


READINGS = _by_name(_some(Reading, labels=LABELS, value=NUMBERS, time=MOMENTS))
SERIES = _by_name(
    _some(Series, labels=LABELS, points=st.lists(st.tuples(MOMENTS, NUMBERS), max_size=3).map(tuple))
)
STEPS = _some(EnsembleStep, version=st.integers(-1, 9))
CONFIGS = _some(
    ModelConfig,
    max_batch_size=st.integers(0, 9),
    max_queue_delay_seconds=MOMENTS,
    decoupled=st.booleans(),
    steps=STEPS,
    parameters=LABELS,
)
FIELDS: dict[str, st.SearchStrategy[object]] = {
    "model": WORDS,
    "version": WORDS,
    "incident": SPANS,
    "baseline": SPANS,
    "now": READINGS,
    "before": READINGS,
    "trends": SERIES,
    "asked": LABELS,
    "usual": SERIES,
    "targets": _some(Target, labels=LABELS),
    "alerts": _some(FiringAlert, value=NUMBERS, labels=LABELS, annotations=LABELS),
    "replicas": _some(ReplicaState, ready=st.booleans(), entries=_some(RepositoryEntry), configs=CONFIGS),
    "unseen": _some(Unseen),
    "trend_seconds": MOMENTS,
    "baseline_note": WORDS,
    "called": LABELS,
}
"""How to make any snapshot: a new field needs its place here, so that it cannot be forgotten in the file."""


def test_every_field_has_its_place() -> None:
    """A snapshot has no field of which this test knows nothing."""
    assert [*FIELDS] == [field.name for field in dataclasses.fields(Snapshot)]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(snapshot=st.builds(Snapshot, **FIELDS))
def test_whatever_a_snapshot_holds_comes_back(snapshot: Snapshot) -> None:
    """Every field, not a number among them; and the file written from it is the same to the byte."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "1.json", Path(folder) / "2.json"
        save_snapshot(snapshot, first)
        again = load_snapshot(first)
        save_snapshot(again, second)

        assert repr(again) == repr(snapshot)
        assert second.read_bytes() == first.read_bytes()


def test_a_verdict_on_a_saved_snapshot_is_the_live_one_with_every_field(fleet: Fleet, tmp_path: Path) -> None:
    """Since when, by means over so many seconds, and what it was compared with."""
    fleet.now.slow(0.070, "preprocess", "decode")
    labels = {"model": "preprocess", "version": "1", "stage": "decode"}
    points = tuple((9_000.0 + 10 * at, 0.012 if at < 50 else 0.082) for at in range(100))
    fleet.trends = {"stage": (Series(labels=labels, points=points),)}
    snapshot = replace(fleet.snapshot(), trend_seconds=60.0, baseline_note="compared with a quiet hour")
    save_snapshot(snapshot, tmp_path / "s.json")

    verdict = triage(snapshot)

    assert verdict.causes[0].since is not None
    assert triage(load_snapshot(tmp_path / "s.json")) == verdict


def test_a_saved_snapshot_is_json_anyone_reads(fleet: Fleet, tmp_path: Path) -> None:
    """No NaN, no Infinity: tools other than Python's can read it."""
    fleet.now.put("p99", float("nan"), model="m", version="1", stage="total")
    path = tmp_path / "s.json"
    save_snapshot(fleet.snapshot(), path)

    json.loads(
        path.read_text(encoding="utf-8"), parse_constant=lambda word: pytest.fail(f"{word} is not JSON")
    )


def test_a_saved_snapshot_is_judged_as_the_live_one(fleet: Fleet, tmp_path: Path) -> None:
    """Triage needs nobody: the same verdict to the letter."""
    fleet.now.slow(0.070, "preprocess", "decode")
    save_snapshot(fleet.snapshot(), tmp_path / "s.json")

    assert triage(load_snapshot(tmp_path / "s.json")) == fleet.verdict()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "Expecting value", id="empty"),
        pytest.param("[]", "not a snapshot of format 1", id="another JSON"),
        pytest.param(
            '{"tritonobs_snapshot": 2}', r"not a snapshot of format 1 \(found 2\)", id="a later format"
        ),
        pytest.param('{"tritonobs_snapshot": 1}', "damaged at 'model'", id="half a snapshot"),
    ],
)
def test_what_is_no_snapshot_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """With the file's name and the reason."""
    path = tmp_path / "s.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(SnapshotUnusable, match=why):
        load_snapshot(path)


def test_a_missing_snapshot_is_refused(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(SnapshotUnusable, match="No such file"):
        load_snapshot(tmp_path / "none.json")


def test_a_snapshot_of_the_first_release_is_judged_too(fleet: Fleet, tmp_path: Path) -> None:
    """It knows nothing of what was usual, and has silences, which nothing reads; everything else is there."""
    path = tmp_path / "s.json"
    save_snapshot(fleet.snapshot(), path)
    body = json.loads(path.read_text())
    for name in ("usual", "trend_seconds", "baseline_note"):
        del body[name]
    body["silences"] = [{"silence_id": "s", "state": "active", "matchers": ['m="a"']}]
    path.write_text(json.dumps(body))

    assert load_snapshot(path) == fleet.snapshot()


def test_what_earlier_releases_wrote_and_no_one_reads_is_left_out(fleet: Fleet, tmp_path: Path) -> None:
    """A target's last scrape, a model's number of instances: the rest of the snapshot is judged."""
    path = tmp_path / "s.json"
    config = ModelConfig(
        name="m",
        platform="python",
        max_batch_size=0,
        max_queue_delay_seconds=0.0,
        decoupled=False,
        steps=(),
        parameters={},
    )
    fleet.replicas = [ReplicaState(address="http://a", ready=True, entries=(), configs=(config,))]
    save_snapshot(fleet.snapshot(), path)
    body = json.loads(path.read_text())
    body["targets"][0]["last_scrape"] = "2026-05-28T20:26:40Z"
    body["replicas"][0]["configs"][0] |= {"model_instances": 1, "dynamic_batching": True}
    path.write_text(json.dumps(body))

    assert load_snapshot(path) == fleet.snapshot()


@pytest.mark.parametrize(
    ("field", "damage", "why"),
    [
        pytest.param(
            "now", {"requests": [[{}, "many", 1.0]]}, "'now/requests/0/value': Input", id="a number"
        ),
        pytest.param("now", {"requests": [[{}, 1.0]]}, "damaged: ", id="too few values"),
        pytest.param("targets", [{"url": 5}], "'targets/0/url': Input", id="a text"),
        pytest.param("called", {"a": None}, "'called/a': Input", id="a name"),
        pytest.param("incident", {"start": 2.0, "end": 1.0}, "does not end after it begins", id="a span"),
    ],
)
def test_a_damaged_snapshot_is_refused_with_what_is_wrong(
    fleet: Fleet, tmp_path: Path, field: str, damage: object, why: str
) -> None:
    """The field, and what it should be: a file of another program, or one that was edited."""
    path = tmp_path / "s.json"
    save_snapshot(fleet.snapshot(), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: damage}))

    with pytest.raises(SnapshotUnusable, match=why):
        load_snapshot(path)
