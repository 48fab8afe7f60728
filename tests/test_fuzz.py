"""Anything for anything: whatever files, calls, pages and annotations hold, only our own errors come out.

How many examples of each are tried, and for how long, says the profile: `tests/conftest.py`.
"""

from __future__ import annotations

import json
import resource
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fuzz import NUMBERS, spoiled, texts
from tritonobs.chats.dingtalk import MOST_BYTES
from tritonobs.clients.exposition import parse_page
from tritonobs.delivery.composer import Composer
from tritonobs.delivery.payload import read_payload
from tritonobs.errors import FileUnusable, SnapshotUnusable, SpecInvalid
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.saved import load_snapshot
from tritonobs.findings import Severity
from tritonobs.limits.change import Change, set_limit
from tritonobs.limits.log import FIRST, LimitsLog
from tritonobs.outside import shown
from tritonobs.plan.build import build_plan, check
from tritonobs.plan.fleet import Model
from tritonobs.plan.limits import annotated_limits
from tritonobs.spec.load import read_alertmanager, read_text
from tritonobs.spec.values import parse_qps

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOM_BYTES = 2**30


@pytest.fixture(scope="module", autouse=True)
def _room() -> Iterator[None]:
    """What wants more than a gigabyte gets a MemoryError, which is no error of ours."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + _ROOM_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def _small(value: object) -> object:
    """The same shape with little of each: Hypothesis shows what it tries."""
    if isinstance(value, dict):
        return {name: _small(below) for name, below in list(value.items())[:15]}
    return [_small(below) for below in value[:3]] if isinstance(value, list) else value


SAVED = _small(json.loads((Path(__file__).parent / "cli/transcripts/incident.json").read_bytes()))
FLEET = {
    "fleet": "f",
    "replicas": [{"name": "a", "url": "http://10.0.0.1:8000"}],
    "models": {
        "p": {"pipeline": "bls", "calls": {"m": "2"}, "qps_limit": "8"},
        "m": {"versions": {"1": {"qps_limit": "5"}}, "slos": {"a": {"objective": "99%"}}},
    },
    "notify": {"dingtalk": {"oncall": {"webhook_env": "A"}}, "routes": [{"to": "dingtalk/oncall"}]},
}
ALERT = {
    "status": "firing",
    "labels": {"alertname": "A", "model": "m"},
    "annotations": {"summary": "s"},
    "startsAt": "2026-05-01T10:00:00Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": "http://p/graph",
    "fingerprint": "f",
}
CALL = {"version": "4", "groupKey": "g", "truncatedAlerts": 0, "status": "firing", "alerts": [ALERT]}
ENTRY = {
    "number": 1,
    "at": "2026-05-01T10:00:00Z",
    **dict.fromkeys(("who", "source", "field", "model", "version", "old", "new", "reason"), "8"),
    "previous": FIRST,
    "hash": FIRST,
}
HEALTHY = {"status": "firing", "labels": {"alertname": "Healthy", "model": "beside"}}
ALERTMANAGER = {
    "global": {"resolve_timeout": "5m"},
    "route": {"receiver": "theirs", "routes": [{"matchers": ['a="b"'], "receiver": "theirs"}]},
    "receivers": [{"name": "theirs", "webhook_configs": [{"url": "http://h/"}]}],
    "inhibit_rules": [{"source_matchers": ["a=b"], "target_matchers": ["c=d"], "equal": ["e"]}],
}


def _read(text: str) -> None:
    reading = read_text(text, "fleet.yaml")
    findings = (*reading.findings, *(check(reading.spec) if reading.spec else ()))
    assert all(isinstance(str(finding), str) for finding in findings)
    if reading.spec and not any(finding.severity is Severity.ERROR for finding in findings):
        build_plan(reading.spec, Path())


@given(st.text(max_size=200))
def test_any_text_as_a_fleet_file(text: str) -> None:
    """Findings, and never anything else."""
    _read(text)


@given(spoiled(FLEET))
def test_a_spoiled_fleet_file(document: object) -> None:
    """The same for what is nearly right."""
    _read(json.dumps(document))


@given(st.binary(max_size=300) | spoiled(ALERTMANAGER).map(lambda said: json.dumps(said).encode()))
def test_any_bytes_as_an_alertmanagers_file(tmp_path: Path, data: bytes) -> None:
    """A configuration, or findings."""
    path = tmp_path / "alertmanager.yml"
    path.write_bytes(data)
    config, findings = read_alertmanager(path)
    assert (config is None) == bool(findings)


@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_as_a_webhook_call(body: bytes) -> None:
    """Read, or a ValueError that is answered with 400."""
    with suppress(ValueError):
        read_payload(body)


@given(spoiled(CALL))
def test_a_spoiled_webhook_call(document: object) -> None:
    """What is nearly Alertmanager's."""
    with suppress(ValueError):
        for alert in read_payload(json.dumps(document).encode()).alerts:
            assert alert.fingerprint
            assert alert.state


@pytest.fixture(scope="module", name="composer")
def _composer() -> Composer:
    """Writes for a robot that speaks Chinese."""
    fleet = {**FLEET, "notify": {"dingtalk": {"oncall": {"webhook_env": "A", "language": "zh"}}}}
    spec = read_text(json.dumps(fleet), "fleet.yaml").spec
    assert spec
    return Composer(plan=build_plan(spec, Path("/nowhere")), templates={})


@given(st.lists(spoiled(ALERT), max_size=6))
def test_a_healthy_alert_is_told_beside_anything(composer: Composer, alerts: list[object]) -> None:
    """And every other one is named in some message, each within its size."""
    payload = read_payload(json.dumps({"groupKey": "g", "alerts": [*alerts, HEALTHY]}).encode())
    assert len(payload.alerts) == len(alerts) + 1
    pages = composer.write(payload.alerts, {}, composer.plan.notify.robots[0], MOST_BYTES)
    assert {state for page in pages for state in page.states} == {one.state for one in payload.alerts}
    assert all(len(page.message.body()) <= MOST_BYTES for page in pages)
    assert any("Healthy** beside" in page.message.text for page in pages)


@given(
    st.dictionaries(
        st.sampled_from(("tritonobs.dev/max-qps", "tritonobs.dev/max-qps.1", "tritonobs.dev/model")) | texts,
        texts,
    )
)
def test_any_annotation(annotations: dict[str, str]) -> None:
    """A limit in bounds, or a complaint."""
    deployment = SimpleNamespace(key="ns/m", name="m", annotations=annotations, writers={})
    found = annotated_limits([deployment], [Model(name="m", kind="model", versions=("1",))], {})
    assert all(
        not limit.qps.is_finite() or Decimal("0.001") <= limit.qps <= 1_000_000
        for limit in found.limits.values()
    )


@given(st.binary(max_size=400))
def test_any_bytes_as_a_log(tmp_path: Path, data: bytes) -> None:
    """Entries and findings; whoever takes the next turn leaves a log that ends with a whole line.

    What has no line of ours is another file, and stays as it is.
    """
    path = tmp_path / "log"
    path.write_bytes(data)
    log = LimitsLog(path)
    entries, _ = log.read()
    try:
        with log.turn():
            pass
    except FileUnusable:
        assert (path.read_bytes(), entries) == (data, ())
    else:
        assert path.read_bytes()[-1:] in {b"", b"\n"}


@given(st.lists(spoiled(ENTRY), max_size=4))
def test_a_spoiled_log(tmp_path: Path, entries: list[object]) -> None:
    """The same for what is nearly ours."""
    path = tmp_path / "log"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in entries))
    log = LimitsLog(path)
    read, findings = log.read()
    assert all(isinstance(str(finding), str) for finding in findings)
    before = path.read_bytes()
    try:
        with log.turn():
            pass
    except FileUnusable:
        assert (path.read_bytes(), read) == (before, ())


@given(st.text(max_size=60), st.sampled_from((*NUMBERS, "5", "0.001", "1000000")))
def test_any_reason_and_number(tmp_path: Path, reason: str, number: str) -> None:
    """A limit is set and can be read back, or refused; the log stays whole."""
    path = tmp_path / "fleet.yaml"
    if not path.exists():
        path.write_text(json.dumps(FLEET))
    with suppress(ValueError, SpecInvalid):
        set_limit(path, Change(per_second=parse_qps(number), model="m"), who=reason, reason=reason)
    log = LimitsLog(tmp_path / "fleet.limits.jsonl")
    assert log.read()[1] == ()
    if log.path.exists() and log.path.stat().st_size > 100_000:
        log.path.unlink()
        path.unlink()


@given(
    st.lists(texts | st.sampled_from(('m{a="b"} 1', "m 1e999", 'm{a="', "# TYPE m counter"))).map("\n".join)
)
def test_any_text_as_a_metrics_page(page: str) -> None:
    """Samples, and the lines that are none; also within a label."""
    parse_page(page)
    parse_page(f'nv_inference_count{{model="{page}"}} 1\n')


@given(spoiled(SAVED))
def test_a_spoiled_snapshot(tmp_path: Path, document: object) -> None:
    """Judged, or a sentence that it is none."""
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(document))
    with suppress(SnapshotUnusable):
        triage(load_snapshot(path))


@given(st.text(st.characters()))
def test_any_text_on_a_terminal(text: str) -> None:
    """Nothing that does not print, and what prints as it is."""
    made = shown(text)
    assert made.isprintable()
    assert made == text or not text.isprintable()
