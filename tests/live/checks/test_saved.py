"""Snapshots as files: judged again, they say the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.alertmanager import Silence
from tritonobs.clients.prometheus import FiringAlert, Series
from tritonobs.clients.triton import EnsembleStep, ModelConfig, RepositoryEntry
from tritonobs.errors import SnapshotUnusable
from tritonobs.live.ask import Unseen
from tritonobs.live.replicas import ReplicaState
from tritonobs.live.saved import load_snapshot, save_snapshot
from tritonobs.live.triage import triage

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fleet

HOSTILE = 'a"b{}\n☃'


def test_a_saved_snapshot_comes_back_whole(fleet: Fleet, tmp_path: Path) -> None:
    """Every field, infinities and hostile names too: nothing is lost on the way to a colleague."""
    config = ModelConfig(
        name=HOSTILE,
        platform="ensemble",
        max_batch_size=8,
        model_instances=1,
        dynamic_batching=True,
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
        silences=(
            Silence(
                silence_id="s", state="active", ends_at="t", created_by="me", comment="c", matchers=('m="a"',)
            ),
        ),
        replicas=(ReplicaState(address="http://a", ready=True, entries=(entry,), configs=(config,)),),
        trends={"stage": (Series(labels={"model": HOSTILE}, points=((1.0, 2.0), (2.0, float("inf")))),)},
        usual={"p99": (Series(labels={"model": HOSTILE}, points=((1.0, 0.5),)),)},
        unseen=(Unseen(what="x", why="y"),),
    )

    save_snapshot(snapshot, tmp_path / "s.json")

    assert load_snapshot(tmp_path / "s.json") == snapshot


def test_a_saved_snapshot_is_json_anyone_reads(fleet: Fleet, tmp_path: Path) -> None:
    """No NaN, no Infinity: tools other than Python's can read it."""
    fleet.now.put("p99", float("nan"), model="m", version="1", stage="total")
    path = tmp_path / "s.json"
    save_snapshot(fleet.snapshot(), path)

    json.loads(
        path.read_text(encoding="utf-8"), parse_constant=lambda word: pytest.fail(f"{word} is no JSON")
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
        pytest.param("[]", "no snapshot of format 1", id="another JSON"),
        pytest.param(
            '{"tritonobs_snapshot": 2}', r"no snapshot of format 1 \(found 2\)", id="a later format"
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
    """It knows nothing of what was usual; everything else is there."""
    path = tmp_path / "s.json"
    save_snapshot(fleet.snapshot(), path)
    body = json.loads(path.read_text())
    del body["usual"]
    path.write_text(json.dumps(body))

    assert load_snapshot(path) == fleet.snapshot()
