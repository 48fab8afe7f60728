"""`tritonobs serve` as pods: its fleet file, its secrets by reference, its Service.

Its rights in the cluster, and its clients, are limited to what it needs.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from tritonobs.errors import RenderFailed
from tritonobs.extensions.kubernetes.objects import (
    LARGEST_BYTES,
    NAME,
    PORT,
    PORT_NAME,
    SELECTED,
    Object,
    image,
    labelled,
    manifest,
    metadata,
    weight,
)
from tritonobs.plan.fleet import Plan, Pods
from tritonobs.plan.kubernetes import Objects
from tritonobs.plan.notify import SecretSource

HOME: Final = PurePosixPath("/etc/tritonobs")
"""Where the fleet file is in the pod; relative paths in it count from there."""
_FLEET, _STATE = "tritonobs-fleet-file", "/var/lib/tritonobs"
_USER = 10001
"""That of the image."""
# serve refuses a secret that every user can read; it reads these as a member of `fsGroup`.
_OWNER_AND_GROUP = 0o440
_IS_KEY, _NO_KEY = re.compile(r"[-._a-zA-Z0-9]+"), re.compile(r"[^-._a-zA-Z0-9]")
"""What Kubernetes allows in keys of a ConfigMap or a Secret."""

_RIGHTS = "rbac.authorization.k8s.io"
_NAMESPACE = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFile:
    """The text of the fleet file, and of the plain files it names by paths relative to it."""

    text: str
    others: Mapping[str, str]


def workload_objects(plan: Plan, objects: Objects, fleet: FleetFile) -> Iterator[Object]:
    """The fleet file, a Deployment and its Service.

    Raises:
        RenderFailed: the fleet file is too large for an object even when packed.
    """
    files = _fleet(objects, fleet)
    yield files
    service = {
        "selector": dict(SELECTED),
        "ports": [{"name": PORT_NAME, "port": PORT, "targetPort": PORT_NAME, "protocol": "TCP"}],
    }
    yield manifest("v1", "Service", metadata(NAME, objects), spec=service)
    name = "fleet.yaml.gz" if "binaryData" in files else "fleet.yaml"
    deployment = {
        "replicas": objects.serve_replicas,
        "selector": {"matchLabels": dict(SELECTED)},
        # One pod always answers scrapes and takes over the delivery.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": {"metadata": {"labels": labelled(objects)}, "spec": _pod(plan, objects, name, fleet)},
    }
    yield manifest("apps/v1", "Deployment", metadata(NAME, objects), spec=deployment)


def service_names(objects: Objects) -> tuple[str, ...]:
    """The host names under which pods of the cluster ask serve."""
    spaced = f"{NAME}.{objects.namespace}"
    return (NAME, spaced, f"{spaced}.svc", f"{spaced}.svc.cluster.local")


def _fleet(objects: Objects, fleet: FleetFile) -> Object:
    about = metadata(_FLEET, objects)
    keys = _keys(fleet.others)
    others = {keys[path]: text for path, text in fleet.others.items()}
    made = manifest("v1", "ConfigMap", about, data={"fleet.yaml": fleet.text, **others})
    if weight(made) <= LARGEST_BYTES:
        return made
    # gzip would write the time into it, and the same fleet file would give another object.
    packed = base64.b64encode(gzip.compress(fleet.text.encode(), mtime=0)).decode()
    made = manifest("v1", "ConfigMap", about, data=others, binaryData={"fleet.yaml.gz": packed})
    if (size := weight(made)) > LARGEST_BYTES:
        raise RenderFailed(f"the fleet file has {size} bytes when packed; an object takes {LARGEST_BYTES}")
    return made


def _pod(plan: Plan, objects: Objects, key: str, fleet: FleetFile) -> Object:
    volumes, mounts = _volumes(plan, objects, key, fleet)
    probe = {"port": PORT_NAME, "scheme": "HTTP"}
    container = {
        "name": NAME,
        "image": image(objects),
        "args": [
            *("serve", str(HOME / key), "--host", "0.0.0.0", "--port", str(PORT)),  # noqa: S104 (in a pod, behind a policy)
            *("--lease", f"{objects.namespace}/{NAME}"),
            *(word for name in service_names(objects) for word in ("--name", name)),
            *([] if plan.notify.auth else ["--without-auth"]),
        ],
        "env": [
            {"name": "TRITONOBS_LIMITS_LOG", "value": f"{_STATE}/limits.jsonl"},
            *_variables(plan, objects),
        ],
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}, "periodSeconds": 5},
        "livenessProbe": {
            "httpGet": {"path": "/healthz", **probe},
            "initialDelaySeconds": 10,
            "periodSeconds": 10,
            "timeoutSeconds": 5,
        },
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(SELECTED)},
    }
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "terminationGracePeriodSeconds": 30,
        "containers": [container],
        "volumes": volumes,
    }


def _volumes(plan: Plan, objects: Objects, key: str, fleet: FleetFile) -> tuple[list[Object], list[Object]]:
    """The fleet file with its files and secrets in one folder, other folders of secrets, room to write."""
    folders: dict[PurePosixPath, dict[str, str]] = defaultdict(dict)
    for file in secret_files(plan):
        # Below the fleet file they share its folder; elsewhere each folder is its own.
        home = HOME if file.is_relative_to(HOME) else file.parent
        folders[home][str(file.relative_to(home))] = file.name
    plain = [{"key": key, "path": path} for path, key in _keys(fleet.others).items()]
    sources: list[Any] = [{"configMap": {"name": _FLEET, "items": [{"key": key, "path": key}, *plain]}}]
    if folders.get(HOME):
        sources.append(_secret(objects, folders.pop(HOME)))
    volumes: list[Object] = [
        {"name": "fleet", "projected": {"defaultMode": _OWNER_AND_GROUP, "sources": sources}},
        {"name": "state", "emptyDir": {"sizeLimit": "256Mi"}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
    ]
    mounts: list[Object] = [
        # The whole folder, because Kubernetes never updates a file that is mounted by `subPath`.
        {"name": "fleet", "mountPath": str(HOME), "readOnly": True},
        {"name": "state", "mountPath": _STATE},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 (the pod's own)
    ]
    for number, (folder, files) in enumerate(sorted(folders.items()), start=1):
        projected = {"defaultMode": _OWNER_AND_GROUP, "sources": [_secret(objects, files)]}
        volumes.append({"name": f"secrets-{number}", "projected": projected})
        mounts.append({"name": f"secrets-{number}", "mountPath": str(folder), "readOnly": True})
    return volumes, mounts


def _secret(objects: Objects, files: Mapping[str, str]) -> Object:
    items = [{"key": key, "path": path} for path, key in sorted(files.items())]
    return {"secret": {"name": objects.secret, "items": items}}


def secret_files(plan: Plan) -> tuple[PurePosixPath, ...]:
    """The files with secrets that serve reads, where they are in the pod; the name of each is a key.

    Raises:
        RenderFailed: two of them have one name, or one has a name that cannot be a key.
    """
    found = [PurePosixPath(source.file) for source in _sources(plan) if source.file]
    if plan.notify.auth:
        found.append(PurePosixPath(plan.notify.auth.file))
    files: dict[str, PurePosixPath] = {}
    for file in found:
        if not _IS_KEY.fullmatch(file.name):
            raise RenderFailed(
                f"{file} cannot be in a Secret: its key would be {file.name!r}; "
                "allowed are a-z A-Z 0-9 . _ and -"
            )
        if files.setdefault(file.name, file) != file:
            raise RenderFailed(
                f"{files[file.name]} and {file} would be one key of the Secret, {file.name}; "
                "give the files different names"
            )
    return tuple(files.values())


def _variables(plan: Plan, objects: Objects) -> Iterator[Object]:
    for name in dict.fromkeys(source.env for source in _sources(plan) if source.env):
        yield {"name": name, "valueFrom": {"secretKeyRef": {"name": objects.secret, "key": name}}}


def _sources(plan: Plan) -> Iterator[SecretSource]:
    for robot in plan.notify.robots:
        yield robot.webhook
        if robot.secret:
            yield robot.secret
    for webhook in plan.notify.relayed:
        if webhook.secret:
            yield webhook.secret


def _keys(paths: Iterable[str]) -> dict[str, str]:
    """What a ConfigMap takes as keys, by path: `templates/own.j2` is `templates_own.j2`.

    Raises:
        RenderFailed: a path leads out of the fleet file's folder, or two of them would be one key.
    """
    keys: dict[str, str] = {}
    taken = {"fleet.yaml": "the fleet file"}
    for path in paths:
        key = _NO_KEY.sub("_", path)
        if ".." in PurePosixPath(path).parts:
            raise RenderFailed(f"{path} cannot be in a ConfigMap: it is not below the fleet file's folder")
        if key in taken:
            raise RenderFailed(
                f"{taken[key]} and {path} would be one key of the ConfigMap, {key}; rename one"
            )
        keys[path], taken[key] = key, path
    return keys


def access_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """The service account; its rights on its Lease, on annotated objects, and on the pods it looks for."""
    # The pods of serve ask for the token in their own spec; no other pod of this account gets one.
    yield manifest("v1", "ServiceAccount", metadata(NAME, objects), automountServiceAccountToken=False)
    lease = [
        # RBAC cannot restrict `create` to a name, so it stands apart from the other verbs.
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [NAME],
            "verbs": ["get", "update"],
        },
    ]
    yield from _granted(NAME, objects.namespace, lease, objects)
    watched = plan.kubernetes.watched
    if watched:
        events = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
        rules: list[Object] = [
            {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["list", "watch"]}
            for kind in watched.kinds
        ]
        rules += [events] if watched.events else []
        yield from _granted(f"{NAME}-annotations", watched.namespace, rules, objects)
    if isinstance(plan.replica_source, Pods):
        pods = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        yield from _granted(f"{NAME}-pods", plan.replica_source.namespace, pods, objects)


def reach_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """Only its own namespace reaches serve, that of Prometheus and Alertmanager, and that of the servers."""
    how = plan.replica_source
    # Triton posts its traces to serve.
    servers = how.namespace if isinstance(how, Pods) else ""
    named = sorted({objects.namespace, objects.prometheus_namespace, servers} - {""})
    peers: list[Object] = [{"namespaceSelector": {"matchLabels": {_NAMESPACE: name}}} for name in named]
    policy = {
        "podSelector": {"matchLabels": dict(SELECTED)},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": peers, "ports": [{"port": PORT, "protocol": "TCP"}]}],
    }
    yield manifest("networking.k8s.io/v1", "NetworkPolicy", metadata(NAME, objects), spec=policy)
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": dict(SELECTED)}}
    yield manifest("policy/v1", "PodDisruptionBudget", metadata(NAME, objects), spec=budget)


def _granted(name: str, namespace: str, rules: Sequence[Object], objects: Objects) -> Iterator[Object]:
    """Rights in one namespace, or in all, for the service account."""
    kind = "Role" if namespace else "ClusterRole"
    place = {"namespace": namespace} if namespace else {}
    about = {"name": name, **place, "labels": labelled(objects)}
    api = f"{_RIGHTS}/v1"
    yield manifest(api, kind, about, rules=list(rules))
    role = {"apiGroup": _RIGHTS, "kind": kind, "name": name}
    subjects = [{"kind": "ServiceAccount", "name": NAME, "namespace": objects.namespace}]
    yield manifest(api, f"{kind}Binding", about, roleRef=role, subjects=subjects)
