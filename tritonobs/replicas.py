"""One search for the servers: pods, the addresses of a name, the targets of a file or of a page."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import yaml

from tritonobs.clients.kubernetes_api import KubernetesApi
from tritonobs.clients.transport import Transport, as_documented
from tritonobs.errors import BadAnswer, Unreachable
from tritonobs.files import read_text
from tritonobs.findings import found, listed, quoted
from tritonobs.outside import web_parts
from tritonobs.plan.fleet import (
    Plan,
    Pods,
    Replica,
    Resolved,
    TargetsFile,
    TargetsPage,
    triton_labels,
)
from tritonobs.section import MOST_REPLICAS
from tritonobs.units import host_port

_MOST_BYTES: Final = 32 * 2**20
_RUNNING: Final = "Running"
_GROUP: Final = '{"targets": ["host:8002"], "labels": {"pool": "a"}}'


def find_replicas(plan: Plan) -> tuple[Replica, ...]:
    """The servers there are now, by name: those the fleet file names, or those that can be found.

    Raises:
        TritonobsError: nothing could be asked, or the answer is not as documented.
    """
    how = plan.replica_source
    if isinstance(how, Pods):
        servers = _pods(plan, how)
    elif isinstance(how, Resolved):
        servers = _resolved(how)
    elif isinstance(how, TargetsFile):
        servers = _targets(_read(how), how.http_port, str(how.path))
    elif isinstance(how, TargetsPage):
        with closing(Transport(how.url)) as client:
            value = client.get("").required().json()
        servers = _targets(value, how.http_port, client.address)
    else:
        return plan.replicas
    by_name = {one.name: one for one in servers}
    if len(by_name) > MOST_REPLICAS:
        raise BadAnswer(f"found {len(by_name)} servers; at most {MOST_REPLICAS} are allowed")
    return tuple(by_name[name] for name in sorted(by_name))


def targets_faults(how: TargetsFile) -> tuple[str, ...]:
    """Every mistake in a file of targets, with the number of its group, counted from 1.

    Raises:
        FileUnusable: it cannot be read.
        BadAnswer: it is not JSON or YAML.
    """
    return tuple(_faults(_read(how)))


def labels_replaced(plan: Plan, how: TargetsFile) -> Iterator[str]:
    """Labels of a file of targets without mistakes that the relabelling of a built prometheus.yml replaces.

    Raises:
        FileUnusable, BadAnswer: as above.
    """
    own, replica = triton_labels(plan), plan.rules.replica_label
    for number, group in enumerate(_read(how), start=1):
        labels = dict(_labels(group))
        if any(labels.get(replica, target) != target for target in group["targets"]):
            yield f"label {replica} of group {number} is replaced by the target"
        for name in sorted(labels.keys() & own.keys() - {replica}):
            if labels[name] != own[name]:
                yield f"label {name} of group {number} is replaced by {quoted(own[name])}"


def _read(how: TargetsFile) -> Any:  # noqa: ANN401 (anything that the file holds)
    return _parsed(read_text(how.path, most=_MOST_BYTES), str(how.path))


def _pods(plan: Plan, how: Pods) -> Iterator[Replica]:
    server = plan.kubernetes.server
    if server is None:
        raise Unreachable("no API server is known")
    path = f"/api/v1/namespaces/{how.namespace}/pods" if how.namespace else "/api/v1/pods"
    with closing(KubernetesApi(server)) as api:
        for page in api.pages(path, {"labelSelector": how.selector}):
            with as_documented(api.address(path), "a list of pods"):
                for pod in page.get("items") or ():
                    status, metadata = pod.get("status") or {}, pod["metadata"]
                    # One that is being deleted is on its way out: Prometheus drops it, too.
                    if (
                        status.get("phase") == _RUNNING
                        and status.get("podIP")
                        and "deletionTimestamp" not in metadata
                    ):
                        yield _replica(str(metadata["name"]), status["podIP"], how.port, how.http_port)


def _resolved(how: Resolved) -> Iterator[Replica]:
    try:
        answers = socket.getaddrinfo(
            # As in Prometheus' configuration: a server with both kinds of addresses is one server.
            how.name,
            how.port,
            family=socket.AF_INET,
            type=socket.SOCK_STREAM,
        )
    except OSError as error:
        raise Unreachable(f"{how.name} cannot be resolved: {error.strerror or error}") from None
    for address in sorted({str(answer[4][0]) for answer in answers}):
        yield _replica(host_port(address, how.port), address, how.port, how.http_port)


def _parsed(text: str, where: str) -> Any:  # noqa: ANN401 (anything that the file holds)
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        raise BadAnswer(f"{where} is not JSON or YAML") from None


def _targets(value: Any, http_port: int, where: str) -> Iterator[Replica]:  # noqa: ANN401 (as above)
    """Groups as Prometheus' file_sd and http_sd have them."""
    for fault in _faults(value):
        raise BadAnswer(f"{where}: {fault}")
    with as_documented(where, "a list of targets"):
        for group in value:
            labels = dict(_labels(group))
            scheme, page = labels.get("__scheme__", "http"), labels.get("__metrics_path__", "/metrics")
            for target in group["targets"]:
                host = target.rpartition(":")[0]
                yield Replica(
                    name=target,
                    http_url=f"{scheme}://{host}:{http_port}",
                    metrics_url=f"{scheme}://{target}{page}",
                )


def _faults(value: Any) -> Iterator[str]:  # noqa: ANN401 (as above)
    """What is wrong with groups of targets."""
    if not isinstance(value, list):
        yield f"found {found(value)}; allowed is a list of groups like {_GROUP}"
        return
    for number, group in enumerate(value, start=1):
        if not isinstance(group, dict) or not isinstance(group.get("targets"), list):
            yield f"group {number} has no list of targets; allowed is one like {_GROUP}"
            continue
        labels = dict(_labels(group))
        scheme = labels.get("__scheme__", "http")
        if wrong := [name for name, text in labels.items() if not isinstance(text, str)]:
            yield f"group {number}: allowed is text in {listed(wrong)}; write quotes"
        elif scheme not in {"http", "https"}:
            yield f"group {number}: {scheme!r} is not a scheme; allowed is http or https"
        for target in group["targets"]:
            parts = web_parts(f"http://{target}")
            if parts is None or parts.port is None or parts.netloc != target:
                yield f"group {number}: {str(target)!r} is not host:port"


def _labels(group: dict[str, Any]) -> list[tuple[str, Any]]:
    labels = group.get("labels") or {}
    return list(labels.items()) if isinstance(labels, dict) else [("labels", labels)]


def _replica(name: str, address: str, port: int, http_port: int) -> Replica:
    return Replica(
        name=name,
        http_url=f"http://{host_port(address, http_port)}",
        metrics_url=f"http://{host_port(address, port)}/metrics",
    )
