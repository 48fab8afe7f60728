"""What every object has in common: names, labels, its size; and boards as ConfigMaps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias

from tritonobs import __version__
from tritonobs.errors import RenderFailed
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.artifact import Artifact, yaml_text

Object: TypeAlias = "dict[str, Any]"
NAME: Final = "tritonobs"
PORT: Final = 9900
PORT_NAME: Final = "http"
SELECTED: Final = {"app.kubernetes.io/name": NAME}
LARGEST_BYTES: Final = 250_000
"""`kubectl apply` keeps the whole object in an annotation, and refuses one of more than 262,144 bytes."""
# What the sidecar of Grafana's chart looks for.
_BOARD_LABELS: Final = {"grafana_dashboard": "1"}
# kubectl writes that annotation with Go's encoder, which escapes these for browsers.
_ESCAPED = {"<": 5, ">": 5, "&": 5, "\u2028": 3, "\u2029": 3}


def manifest(api: str, kind: str, about: Object, **body: object) -> Object:
    """An object; `about` is its metadata, `body` what comes after that."""
    return {"apiVersion": api, "kind": kind, "metadata": about, **body}


def metadata(name: str, objects: Objects, labels: Mapping[str, str] | None = None) -> Object:
    """The metadata of an object in the fleet's namespace."""
    return {"name": name, "namespace": objects.namespace, "labels": labelled(objects, labels)}


def labelled(objects: Objects, labels: Mapping[str, str] | None = None) -> dict[str, str]:
    """The labels of an object: ours, the fleet file's, and its own."""
    return {
        **SELECTED,
        "app.kubernetes.io/part-of": NAME,
        "app.kubernetes.io/managed-by": NAME,
        **objects.labels,
        **(labels or {}),
    }


def image(objects: Objects) -> str:
    """The image of `tritonobs serve`."""
    return objects.image or f"{NAME}:{__version__}"


def weight(value: object) -> int:
    """How many bytes the value is to the store, as YAML or as kubectl's JSON, whichever is more."""
    return max(len(yaml_text(value).encode()), stored(value))


def stored(value: object) -> int:
    """How many bytes the value is in the annotation that `kubectl apply` makes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + sum(more * text.count(sign) for sign, more in _ESCAPED.items())


def board_object(name: str, artifact: Artifact, objects: Objects) -> Object:
    """The board, its JSON without the spaces that only people need.

    Raises:
        RenderFailed: it is too large for an object.
    """
    text = json.dumps(json.loads(artifact.text), ensure_ascii=False, separators=(",", ":"))
    data = {PurePosixPath(artifact.path).name: text}
    about = metadata(name, objects, objects.board_labels or _BOARD_LABELS)
    made = manifest("v1", "ConfigMap", about, data=data)
    if (size := weight(made)) > LARGEST_BYTES:
        raise RenderFailed(f"board {name} has {size} bytes; an object takes {LARGEST_BYTES}")
    return made
