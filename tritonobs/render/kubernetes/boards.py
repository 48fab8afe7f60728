"""Boards as ConfigMaps that Grafana's sidecar loads."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from tritonobs.errors import RenderFailed
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.artifact import Artifact
from tritonobs.render.kubernetes.objects import LARGEST_BYTES, Object, metadata, weight


def board_object(name: str, artifact: Artifact, objects: Objects) -> Object:
    """The board, its JSON without the spaces that only people need.

    Raises:
        RenderFailed: it is too large for an object.
    """
    text = json.dumps(json.loads(artifact.text), ensure_ascii=False, separators=(",", ":"))
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name, objects, objects.board_labels),
        "data": {PurePosixPath(artifact.path).name: text},
    }
    if (size := weight(made)) > LARGEST_BYTES:
        raise RenderFailed(f"board {name} has {size} bytes; an object takes {LARGEST_BYTES}")
    return made
