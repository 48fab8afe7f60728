"""Servers that come and go are found where the fleet file says, and named as Prometheus names them."""

from __future__ import annotations

import json
import re
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
import yaml

from support.kubernetes import KubernetesDouble
from support.serving import serving
from tritonobs.errors import BadAnswer, FileUnusable, TritonobsError, Unreachable
from tritonobs.plan.build import build_plan
from tritonobs.render.prometheus import render_prometheus
from tritonobs.replicas import find_replicas
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tritonobs.plan.fleet import Plan

TARGETS = [{"targets": ["10.0.0.1:8002", "[fd00::1]:9002"], "labels": {"__metrics_path__": "/m"}}]


@pytest.fixture(name="plan_of")
def _plan_of(tmp_path: Path) -> Callable[[str, str], Plan]:
    def build(replicas: str, more: str = "") -> Plan:
        file = tmp_path / "fleet.yaml"
        file.write_text(f"fleet: shop\nreplicas: {replicas}\nmodels: {{m: {{}}}}\n{more}\n")
        return build_plan(load_fleet(file), tmp_path)

    return build


@pytest.mark.parametrize("port", ["0", "65536", "8002000001", "000001999999", "\u00b2", "1" * 5000, "no"])
def test_a_port_is_a_port(plan_of, port: str) -> None:
    """However many digits it has."""
    with pytest.raises(TritonobsError, match="allowed is a port, 1 to 65535"):
        plan_of(f"{{dns: {{name: triton, port: {port!r}}}}}")


def _shown(plan: Plan) -> list[tuple[str, str, str]]:
    return [(one.name, one.http_url, one.metrics_url) for one in find_replicas(plan)]


def _pod(
    cluster: KubernetesDouble, name: str, address: str, *, phase: str = "Running", **more: object
) -> None:
    metadata = {"name": name, "labels": {"app": "triton"}, **more}
    status = {"phase": phase, "podIP": address} if address else {"phase": phase}
    cluster.write("pods", "models", {"metadata": metadata, "status": status}, create=True)


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path) -> Iterator[KubernetesDouble]:
    with KubernetesDouble() as double:
        (tmp_path / "token").write_text(double.token)
        yield double


def test_pods_are_the_running_ones_with_the_labels(cluster, plan_of):
    """Not those that are starting, over, or being deleted; the pod's name is the replica's."""
    _pod(cluster, "triton-b", "10.0.0.2")
    _pod(cluster, "triton-a", "fd00::1")
    _pod(cluster, "triton-c", "", phase="Pending")
    _pod(cluster, "triton-d", "10.0.0.4", phase="Succeeded")
    _pod(cluster, "triton-e", "10.0.0.5", deletionTimestamp="2026-01-01T00:00:00Z")
    _pod(cluster, "web", "10.0.0.9", labels={"app": "web"})

    plan = plan_of(
        "{kubernetes: {selector: app=triton, namespace: models, port: 9002}}",
        f"kubernetes: {{api: '{cluster.url}', token_file: token, watch: false}}",
    )

    assert _shown(plan) == [
        ("triton-a", "http://[fd00::1]:8000", "http://[fd00::1]:9002/metrics"),
        ("triton-b", "http://10.0.0.2:8000", "http://10.0.0.2:9002/metrics"),
    ]
    assert cluster.asked[0]["labelSelector"] == "app=triton"
    assert plan.rules.replica_label == "pod"


@pytest.mark.parametrize("selector", ["tier in (gpu)", "tier notin (cpu)", "!test", "app=a,!test"])
def test_a_selector_of_another_kind_is_refused_with_what_is_taken(plan_of, selector: str) -> None:
    """`kubectl` takes it; the operator's objects are made of labels and their values."""
    taken = "with =, == or !=, and a bare key; not in, notin or !key"
    with pytest.raises(TritonobsError, match=re.escape(taken)):
        plan_of(f"{{kubernetes: {{selector: {selector!r}}}}}")


@pytest.mark.parametrize("selector", ["app=a", "app==a,tier!=test", "app", "example.com/app = a, gpu"])
def test_a_selector_of_labels_is_taken(plan_of, selector: str) -> None:
    """The twin."""
    assert plan_of(f"{{kubernetes: {{selector: {selector!r}}}}}").replica_source.selector == selector


def test_a_file_is_read_as_prometheus_reads_it(plan_of, tmp_path):
    """JSON or YAML, relative to the fleet file; the HTTP port is told apart."""
    (tmp_path / "targets.json").write_text(json.dumps(TARGETS))

    assert _shown(plan_of("{file: {path: targets.json, http_port: 9000}}")) == [
        ("10.0.0.1:8002", "http://10.0.0.1:9000", "http://10.0.0.1:8002/m"),
        ("[fd00::1]:9002", "http://[fd00::1]:9000", "http://[fd00::1]:9002/m"),
    ]


@pytest.mark.parametrize(
    "target",
    ["h", ":80", "h:0", "h:99999", "h:\u00b2", "h:99999999", "h h:80", "h\n:80", "h/x:80", "[fd00::1:80"],
)
def test_a_target_nobody_can_ask_is_found_where_it_is_read(plan_of, tmp_path, target: str):
    """Not where it is asked, which would be a fault of ours."""
    (tmp_path / "targets.json").write_text(json.dumps([{"targets": [target]}]))

    with pytest.raises(BadAnswer, match="is not host:port"):
        find_replicas(plan_of("{file: {path: targets.json}}"))


def test_a_scheme_nobody_can_ask_is_found_where_it_is_read(plan_of, tmp_path):
    """Labels of a target are what somebody wrote, too."""
    (tmp_path / "targets.json").write_text(
        json.dumps([{"targets": ["h:80"], "labels": {"__scheme__": "ftp"}}])
    )

    with pytest.raises(BadAnswer, match="'ftp' is not a scheme; allowed is http or https"):
        find_replicas(plan_of("{file: {path: targets.json}}"))


def test_a_page_is_read_as_prometheus_reads_it(plan_of):
    """The same shape over HTTP."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(TARGETS).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Page)) as server:
        found = _shown(plan_of(f"{{http: {{url: 'http://127.0.0.1:{server.server_address[1]}/sd'}}}}"))

    assert [name for name, _, _ in found] == ["10.0.0.1:8002", "[fd00::1]:9002"]


def test_a_name_stands_for_all_of_its_addresses(plan_of, monkeypatch):
    """As a headless Service does. With both kinds of addresses a server is one, also for Prometheus."""
    both = {
        socket.AF_INET: [("10.0.0.1", 8002), ("10.0.0.2", 8002)],
        socket.AF_INET6: [("fd00::1", 8002, 0, 0)],
    }

    def resolve(host, port, family=0, **more):
        assert (host, port) == ("triton", 8002)
        found = both[family] if family else both[socket.AF_INET] + both[socket.AF_INET6]
        return [(family, more["type"], 6, "", address) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    plan = plan_of("{dns: {name: triton}}")

    found = _shown(plan)

    assert [name for name, _, _ in found] == ["10.0.0.1:8002", "10.0.0.2:8002"]
    (config,) = [one.text for one in render_prometheus(plan) if one.path.endswith("prometheus.yml")]
    (built,) = [job for job in yaml.safe_load(config)["scrape_configs"] if "dns_sd_configs" in job]
    assert [one["type"] for one in built["dns_sd_configs"]] == ["A"]


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        pytest.param("{file: {path: missing.json}}", FileUnusable, id="no file"),
        pytest.param("{file: {path: fleet.yaml}}", BadAnswer, id="another file"),
        pytest.param("{dns: {name: no-such-host.invalid}}", Unreachable, id="no such host"),
        pytest.param("{http: {url: 'http://127.0.0.1:9'}}", Unreachable, id="nobody there"),
        pytest.param("{kubernetes: {selector: a=b}}", TritonobsError, id="no cluster"),
    ],
)
def test_where_nobody_tells_it_is_an_error_of_ours(plan_of, replicas, error):
    """Never an empty fleet, never a traceback."""
    with pytest.raises(error):
        find_replicas(plan_of(replicas))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"targets": ["a:8002"]}', "found a mapping; allowed is a list of groups like"),
        ("nothing", 'found "nothing"; allowed is a list of groups like'),
        ("", "found nothing; allowed is a list of groups like"),
        ('["a:8002"]', "group 1 has no list of targets; allowed is one like"),
        ('[{"targets": []}, {"targets": "a:8002"}]', "group 2 has no list of targets"),
        (
            '[{"targets": ["a:8002"], "labels": {"pool": 3}}]',
            "group 1: allowed is text in pool; write quotes",
        ),
        ('[{"targets": ["a:8002"], "labels": ["pool"]}]', "group 1: allowed is text in labels; write quotes"),
    ],
)
def test_a_file_of_another_shape_is_said_in_words(plan_of, tmp_path, text: str, said: str):
    """Where it is, and what is allowed; no name of an exception."""
    (tmp_path / "targets.json").write_text(text)

    with pytest.raises(BadAnswer) as raised:
        find_replicas(plan_of("{file: {path: targets.json}}"))

    assert f"targets.json: {said}" in str(raised.value)
    assert "Error" not in str(raised.value)
