"""Two clusters in one Prometheus, with the same names for everything: each is judged by its own numbers."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.blocks import past_of, write_past
from support.programs import PrometheusProgram
from support.simulate import World
from tritonobs import programs
from tritonobs.cli.values import asked_prometheus, fleet_cluster
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.history.suggest import operations_in_history
from tritonobs.extensions.triage import calm
from tritonobs.extensions.triage.judge import triage
from tritonobs.extensions.triage.snapshot import take_snapshot
from tritonobs.timings import measured, questions
from tritonobs.timings.ask import known_clusters, unknown_model
from tritonobs.timings.outcomes import workers_question
from tritonobs.timings.promql import Scope, Span
from tritonobs.timings.stages import read_stages
from tritonobs.timings.top import view_of_prometheus

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTES, TROUBLE, PAST, END = 20, 15, 13, 30
"""Minutes of the past: now, when one cluster is in trouble, when the other misses a server, and the end
of what is written, because a busy machine asks later."""
_METRIC = re.compile(
    r"\b(?:(?<![\w:])(?:nv|tritonobs|DCGM|scrape|prometheus|vllm)[_:]\w+|slo:[\w:]+|(?:model|replica)_?\w*:[\w:]+|up)\b(?!\w*\()"
)


def _asked(scope: Scope) -> dict[str, str]:
    """Every question that the live commands ask."""
    return {
        **questions.window_questions(scope, 60.0),
        **questions.moment_questions(scope, 15.0),
        **{f"close {name}": text for name, text in questions.close_questions(scope, 60.0).items()},
        **{f"trend {name}": text for name, text in questions.trend_questions(scope, 60.0).items()},
        **{f"usual {name}": text for name, text in questions.usual_questions(scope, 60.0).items()},
        **{f"calm {name}": text for name, text in calm.calm_questions(scope, 60.0).items()},
        "alive": workers_question(scope, 15.0),
        "calls": measured.calls_question(scope),
        "ensemble": questions.ensemble_question(scope),
    }


@pytest.mark.parametrize("name", _asked(Scope()))
def test_every_metric_of_every_question_is_one_clusters(name: str) -> None:
    """Of this cluster, or of no named one: a question without the matcher mixes two."""
    text = _asked(Scope(cluster="ea.st", models=("m",)))[name]
    # A name that is looked for by a pattern stands among the matchers.
    text = re.sub(r'{(cluster=~[^{}]*),__name__=~"([^"]+)\[[^"]*"}', r"\2{\1}", text)
    metrics = list(_METRIC.finditer(text))

    assert metrics, text
    for metric in metrics:
        assert text[metric.end() :].startswith('{cluster=~"|ea\\\\.st"'), (metric[0], text)


@pytest.mark.parametrize("name", _asked(Scope()))
def test_a_cluster_may_be_told_by_another_label(name: str) -> None:
    """`rules.cluster_label` of the fleet file: every question asks by it, none by `cluster`."""
    text = _asked(Scope(cluster="east", label="k8s_cluster"))[name]

    assert 'k8s_cluster=~"|east"' in text
    assert not re.search(r"(?<!k8s_)cluster=~", text)


@pytest.mark.parametrize(
    ("rules", "cluster"),
    [
        pytest.param("", "east", id="the usual label"),
        pytest.param("rules: {cluster_label: k8s_cluster}", "k8s_cluster=east", id="another label"),
        pytest.param("rules: {cluster_label: none}", "", id="no label"),
    ],
)
def test_commands_ask_by_the_label_of_the_fleet_file(rules: str, cluster: str, tmp_path: Path) -> None:
    """As the rules do."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        f'fleet: s\ncluster: east\nreplicas: [{{name: a, url: "http://a"}}]\nmodels: {{m: {{}}}}\n{rules}\n'
    )

    assert fleet_cluster(fleet) == cluster
    if cluster:
        client = asked_prometheus("http://127.0.0.1:9", cluster)
        assert (client.cluster, client.cluster_label) == ("east", cluster.rpartition("=")[0] or "cluster")


def test_without_a_cluster_nothing_is_left_out() -> None:
    """Those who have one need no label."""
    assert (Scope().of(), Scope().around('a="b"')) == ("", '{a="b"}')


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that holds the past of both."""
    folder = tmp_path_factory.mktemp("clusters")
    world = World(minutes=END, scrape_seconds=5)
    ill = {
        "failures": {"BACKEND": [(TROUBLE, 0.0), (END, 4.0)]},
        "seconds": [(TROUBLE, 0.05), (END, 0.4)],
    }
    for cluster, trouble, qps in (("east", ill, 6.0), ("west", {}, 2.0)):
        world.triton("inspect", qps=qps, cluster=cluster, **trouble)  # type: ignore[arg-type] # what the case says, by name
        world.gauge("up", 1, job="triton", instance="triton-1:8002", cluster=cluster)
        world.gauge("tritonobs_qps_limit", 10 * qps, model="inspect", cluster=cluster)
    was_down = [(PAST - 5, 1), (PAST, 0), (END, 1)]
    world.gauge("up", was_down, job="triton", instance="triton-2:8002", cluster="west")
    firing = [(PAST - 5, None), (PAST, 1), (END, None)]
    world.gauge("ALERTS", firing, alertname="TritonServerDown", alertstate="firing", cluster="west")
    write_past(past_of(world, int(time.time()) - MINUTES * 60), folder)
    with PrometheusProgram(Path(programs.find("prometheus")), {}, folder) as prometheus:
        yield prometheus.url


def _client(url: str, cluster: str = "") -> PrometheusClient:
    """Patient: other tests keep the machine busy."""
    return PrometheusClient(url, cluster=cluster, timeout_seconds=60)


@pytest.mark.parametrize(
    ("cluster", "status"),
    [pytest.param("east", "wrong", id="ill"), pytest.param("west", "healthy", id="well")],
)
def test_each_is_judged_by_its_own_numbers(url: str, cluster: str, status: str) -> None:
    """East fails and is slow since five minutes; nobody in west is to hear of it."""
    now = time.time()
    incident, baseline = Span(start=now - 240, end=now), Span(start=now - 900, end=now - 420)
    prometheus = _client(url, cluster=cluster)

    verdict = triage(take_snapshot(prometheus, incident=incident, baseline=baseline))

    assert verdict.status == status, verdict.sentence
    assert [cause.check for cause in verdict.causes][:1] == ["error_surge"] * (status == "wrong")


@pytest.mark.parametrize(
    ("reach", "seconds"),
    [
        pytest.param(900.0, 300.0, id="to where it began"),
        pytest.param(60.0, 60.0, id="not so far"),
        pytest.param(0.0, 60.0, id="not at all"),
    ],
)
def test_a_look_reaches_back_to_where_the_trouble_began(url: str, reach: float, seconds: float) -> None:
    """East is ill since five minutes, and an alert that needs four began a moment ago."""
    now = time.time()
    incident, baseline = Span(start=now - 60, end=now), Span(start=now - 360, end=now - 60)
    prometheus = _client(url, cluster="east")

    snapshot = take_snapshot(prometheus, incident=incident, baseline=baseline, reach_seconds=reach)
    verdict = triage(snapshot)

    assert snapshot.incident.seconds == pytest.approx(seconds, abs=seconds / 4)
    assert snapshot.baseline.end <= now - 290
    # Where the incident begins with the trouble, nothing was wrong right before it.
    assert bool(snapshot.baseline_note) == (seconds == incident.seconds)
    assert verdict.causes[0].check == "error_surge"


@pytest.mark.parametrize(("past", "told"), [(True, True), (False, False)], ids=["then", "now"])
def test_an_incident_that_is_over_is_judged_by_what_was_then(url: str, *, past: bool, told: bool) -> None:
    """A server was down at its end and is up now; Prometheus' own pages know only of now."""
    end = time.time() - (MINUTES - PAST + 1) * 60 if past else time.time()
    incident, baseline = Span(start=end - 240, end=end), Span(start=end - 480, end=end - 240)
    prometheus = _client(url, cluster="west")

    verdict = triage(take_snapshot(prometheus, incident=incident, baseline=baseline))

    places = [cause.place for cause in verdict.causes if cause.check == "scrape_problem"]
    assert (("", "", "triton-2:8002") in places) == told
    assert ("TritonServerDown" in verdict.firing) == told


def test_rates_limits_and_stages_are_those_of_one(url: str) -> None:
    """Two requests a second in west, eight of them in both."""
    west = _client(url, cluster="west")
    (row,) = view_of_prometheus(west, window_seconds=60).rows
    (table,) = read_stages(west, "inspect", window_seconds=60)
    now = time.time()
    past = operations_in_history(west, Span(start=now - 900, end=now), model="inspect")

    assert (row.qps, row.limit, row.error_ratio) == (pytest.approx(2, rel=0.05), 20, 0)
    assert table.request.mean == pytest.approx(0.05, rel=0.05)
    assert [point.qps for point in past] == [pytest.approx(2, rel=0.05)] * len(past)


def test_who_names_none_hears_which_there_are(url: str) -> None:
    """And a cluster that is not there has no models."""
    now = time.time()
    span = Span(start=now - 600, end=now)

    assert known_clusters(_client(url), span) == ("east", "west")
    assert unknown_model(_client(url, cluster="south"), span, model="inspect").startswith(
        'no model "inspect" was seen'
    )


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        pytest.param((), 2, "has the clusters east and west; name one", id="none named"),
        pytest.param(
            ("--cluster", "south"), 2, 'no cluster "south" was seen; there are east and west', id="unknown"
        ),
        pytest.param(("--cluster", "west"), 0, "", id="one of them"),
    ],
)
def test_commands_take_one_cluster(url: str, options: tuple[str, ...], status: int, said: str) -> None:
    """Several are never shown as if they were one."""
    for command in ("stages", "triage"):
        done = subprocess.run(
            [sys.executable, "-m", "tritonobs", command, "--prometheus", url, *options],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, said in done.stderr) == (status, True), done.stdout + done.stderr
