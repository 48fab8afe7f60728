"""A fleet file from what runs."""

from __future__ import annotations

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from support.serving import serving
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.discover import survey
from tritonobs.extensions.discover.survey import (
    FoundModel,
    FoundReplica,
    FoundVersion,
    discover,
    draft,
    merge,
    merged_models,
)
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

METRICS = """\
nv_inference_request_success{model="whole",version="1"} 40
nv_inference_request_duration_us{model="whole",version="1"} 4000000
nv_inference_request_success{model="inspect",version="1"} 0
nv_inference_request_success{model="detector",version="9"} 10
nv_inference_request_duration_us{model="detector",version="9"} 100000
tritonobs_heartbeat_timestamp_seconds{model="inspect",version="1",worker="w"} 1795240058
"""


def _stats(name: str, version: str, requests: int, seconds: float) -> dict[str, object]:
    served = {"success": {"count": requests, "ns": int(seconds * 1e9)}}
    return {"name": name, "version": version, "inference_stats": served}


ANSWERS: dict[str, object] = {
    "/v2": {"name": "triton", "version": "2.51.0"},
    "/v2/repository/index": [
        {"name": "whole", "version": "3", "state": "READY"},
        {"name": "inspect", "version": "1", "state": "READY"},
        {"name": "detector", "version": "9", "state": "READY"},
        {"name": "detector", "version": "10", "state": "READY"},
        {"name": "detector", "version": "1", "state": "UNAVAILABLE", "reason": "unloaded"},
        {"name": "never"},
        {"name": "mute", "version": "1", "state": "UNAVAILABLE", "reason": " \n"},
        {
            "name": "broken",
            "version": "2",
            "state": "UNAVAILABLE",
            "reason": "Internal: ImportError: no shapely\n\nAt:\n  x",
        },
    ],
    "/v2/models/whole/config": {
        "name": "whole",
        "platform": "ensemble",
        "ensemble_scheduling": {"step": [{"model_name": "detector"}, {"model_name": "detector"}]},
    },
    "/v2/models/inspect/config": {
        "name": "inspect",
        "backend": "python",
        "parameters": {
            "pipeline_calls": {"string_value": "detector:2"},
            "latency_buckets": {"string_value": "0.0005,0.005,0.25,1,2.5"},
            "latency_buckets.9": {"string_value": "0.000125,1"},
        },
    },
    "/v2/models/detector/config": {"name": "detector", "backend": "python"},
    "/v2/models/stats": {"model_stats": [_stats("whole", "3", 40, 4.0), _stats("detector", "9", 10, 0.1)]},
    "/metrics": METRICS,
    "/other": METRICS.replace(" 40", " 41"),
}


class _Handler(BaseHTTPRequestHandler):
    answer = staticmethod(ANSWERS.get)

    def do_GET(self) -> None:
        answer = self.answer(self.path)
        body = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(200 if answer is not None else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Nothing."""


@pytest.fixture(name="url")
def _url() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def _look(url: str, page: str) -> FoundReplica:
    return discover(TritonClient(url), f"{url}{page}", watch_seconds=0.0)


def test_a_replica_tells_what_it_serves(url: str) -> None:
    """Ready versions only, in order; the graph of an ensemble; bounds as the fleet file writes them."""
    found = _look(url, "/metrics")
    models = {model.name: model for model in found.models}

    assert found.release == "2.51.0"
    assert sorted(models) == ["detector", "inspect", "whole"]
    assert [version.version for version in models["detector"].versions] == ["9", "10"]
    assert (models["whole"].kind, models["whole"].calls) == ("ensemble", (("detector", "detector", 2.0),))
    assert (models["inspect"].kind, models["inspect"].calls) == ("bls", (("detector", "detector", 2.0),))
    assert models["inspect"].latency_buckets == ("0.5ms", "5ms", "250ms", "1s", "2s500ms")


def test_traffic_is_what_the_server_itself_counted(url: str) -> None:
    """Of every version, an ensemble's too, whose metrics stand under version 1; none where none came."""
    found = {model.name: model.versions for model in _look(url, "/metrics").models}

    assert found["whole"] == (FoundVersion(version="3", requests=40.0, mean_seconds=0.1),)
    assert found["detector"][1] == FoundVersion(version="10", requests=None, mean_seconds=None)


def test_traffic_of_the_moment_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came between two looks, a second of the time between them."""
    asked: list[str] = []
    ticks = iter((100.0, 102.0))
    clock = SimpleNamespace(monotonic=lambda: next(ticks), sleep=lambda _seconds: None)
    monkeypatch.setattr(survey, "time", clock)
    later = {"model_stats": [_stats("whole", "3", 45, 4.5)]}

    def answer(path: str) -> object:
        asked.append(path)
        again = path == "/v2/models/stats" and asked.count(path) > 1
        return later if again else ANSWERS.get(path)

    monkeypatch.setattr(_Handler, "answer", staticmethod(answer))
    text = draft((_look(url, "/metrics"),))

    assert "# 45 requests, 100 ms each, 2.5/s just now" in text


def test_a_guessed_page_of_another_server_is_not_believed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counts are not those of this server: the draft says so instead of using it."""
    wanted = f"{url}/other"
    monkeypatch.setattr("tritonobs.extensions.discover.survey._usual_page", lambda _: wanted)
    guessed = discover(TritonClient(url), watch_seconds=0.0)

    told = (
        f"{wanted} counts other requests than {url}: another server's, or a model was reloaded in place; "
        "name this server's metrics endpoint (--metrics)"
    )
    assert guessed.remarks[0] == told
    assert not any("reports no stages" in remark for model in guessed.models for remark in model.remarks)
    assert told not in _look(url, "/other").remarks


def test_what_cannot_be_seen_is_said(url: str) -> None:
    """What Python code calls, models without stages, a metrics page that is not there."""
    found = _look(url, "/metrics")
    blind = _look(url, "/wrong")
    (detector,) = [model for model in found.models if model.name == "detector"]

    assert any("models that it calls cannot be seen" in remark for remark in detector.remarks)
    assert any("reports no stages" in remark for remark in detector.remarks)
    assert "no metrics endpoint" in blind.remarks[0]
    assert blind.models[0].versions[0].requests == 10


def test_a_model_that_is_not_found_by_its_name_is_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton does not decode `%7B`: it has the model, and its configuration cannot be read."""
    index = [*ANSWERS["/v2/repository/index"], {"name": "br{a}ce", "version": "1", "state": "READY"}]
    monkeypatch.setitem(ANSWERS, "/v2/repository/index", index)

    (first, *others) = _look(url, "/metrics").models

    assert (first.name, first.kind, [version.version for version in first.versions]) == (
        "br{a}ce",
        "model",
        ["1"],
    )
    assert first.remarks[0].startswith("its configuration could not be read by its name")
    assert [model.name for model in others] == ["detector", "inspect", "whole"]


def test_a_draft_is_a_fleet_file(url: str, tmp_path: Path) -> None:
    """It validates as it is, and says where its numbers come from."""
    text = draft((_look(url, "/metrics"),), fleet="found")
    path = tmp_path / "fleet.yaml"
    path.write_text(text, encoding="utf-8")

    plan = build_plan(load_fleet(path), tmp_path)

    assert [model.name for model in plan.models] == ["detector", "inspect", "whole"]
    assert "# 40 requests, 100 ms each" in text
    assert text.startswith("# A draft made by `tritonobs discover`")


def test_replicas_are_added_up() -> None:
    """Two servers, one model: versions of both, traffic of both."""

    def replica(url: str, *versions: FoundVersion) -> FoundReplica:
        model = FoundModel(name="m", kind="model", versions=versions)
        return FoundReplica(url=url, metrics_url=f"{url}/metrics", release="2.51.0", models=(model,))

    (model,) = merged_models(
        (
            replica("http://a", FoundVersion(version="1", requests=30, mean_seconds=0.1)),
            replica(
                "http://b",
                FoundVersion(version="1", requests=10, mean_seconds=0.5),
                FoundVersion(version="2", requests=None, mean_seconds=None),
            ),
        )
    )

    assert model.versions == (
        FoundVersion(version="1", requests=40, mean_seconds=pytest.approx(0.2)),
        FoundVersion(version="2", requests=None, mean_seconds=None),
    )


def _found(*names: str, url: str = "http://127.0.0.1:8000", remark: str = "") -> FoundReplica:
    version = FoundVersion(version="2", requests=5, mean_seconds=0.02)
    models = tuple(
        FoundModel(name=name, kind="model", versions=(version,), remarks=(remark,) if remark else ())
        for name in names
    )
    return FoundReplica(url=url, metrics_url=f"{url}/metrics", release="2.51.0", models=models)


def test_merging_keeps_every_line_of_the_file() -> None:
    """Comments, quotes, order, spacing: lines are added, and a version where its line is."""
    existing = (Path(__file__).parents[2] / "examples" / "fleet.yaml").read_text(encoding="utf-8")

    text, added = merge(existing, (_found("nms", "tracker"), _found(url="http://10.0.0.7:8000")))

    assert added == ("replica http://10.0.0.7:8000", "version 2 of nms", "model tracker")
    assert 'versions: {"1": {}, "2": {}}\n' in text
    rest = iter(text.replace('"1": {}, "2": {}', '"1": {}').splitlines())
    assert [line for line in existing.splitlines() if line not in rest] == []


def test_remarks_keep_their_order() -> None:
    """Those of a server and those of a model, before and below what they are about."""
    server = _found("tracker")
    model = replace(server.models[0], remarks=("first", "second"))

    text = draft((replace(server, models=(model,), remarks=("third", "fourth")),))

    places = [text.index(remark) for remark in ("third", "fourth", "first", "second")]
    assert places == sorted(places)


def test_merging_what_is_there_changes_nothing() -> None:
    """Not a byte."""
    existing = (
        "# me\nreplicas:\n- {name: a, url: 'http://127.0.0.1:8000/'}\nmodels:\n  m: {versions: {'2':  {}}}\n"
    )

    assert merge(existing, (_found("m"),)) == (existing, ())


def test_a_list_without_indent_stays_without() -> None:
    """People's own style is theirs."""
    existing = "replicas:\n- name: a\n  url: http://b:1\nmodels:\n  m: {}\n"

    text, _ = merge(existing, (_found("m"),))

    assert text.startswith("replicas:\n- name: a\n  url: http://b:1\n- name: triton-1 ")


def test_a_hostile_name_cannot_write_yaml() -> None:
    """Line breaks in what a server says end neither a comment nor a key."""
    name = 'x"\nlimits: {}\n#'
    text = draft((_found(name, remark="first\nmodels: {}\u2028second"),))

    assert merge(text, (_found(name),))[1] == ()
    assert "# first models: {} second" in text


@pytest.mark.parametrize(
    ("existing", "why"),
    [("a: [", "cannot be read as YAML"), ("- a", "not a YAML mapping"), ("", "not a YAML mapping")],
)
def test_what_is_no_fleet_file_is_not_touched(existing: str, why: str) -> None:
    """Refused with the reason."""
    with pytest.raises(ValueError, match=why):
        merge(existing, (_found("m"),))


def test_a_model_that_failed_to_load_is_not_left_out_silently(url: str) -> None:
    """What the server wants to serve and cannot stands in the draft, with the first line of why."""
    found = _look(url, "/metrics")

    told = "broken version 2 is not loaded, not in this file: ImportError: no shapely"
    assert told in found.remarks
    assert f"# {told}\n" in draft((found,))
    assert "mute version 1 is not loaded, not in this file: Triton gave no reason" in found.remarks
    assert not any("unloaded" in remark for remark in found.remarks)


def test_an_instrumented_model_nobody_asked_reports_stages(url: str) -> None:
    """Its workers beat; a count of stages it would have only after the first request."""
    models = {model.name: model for model in _look(url, "/metrics").models}

    assert not any("reports no stages" in remark for remark in models["inspect"].remarks)
    assert any("reports no stages" in remark for remark in models["detector"].remarks)
