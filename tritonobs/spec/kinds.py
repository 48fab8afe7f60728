"""Kinds of Kubernetes objects that a fleet file names without saying more of them."""

from __future__ import annotations

from typing import Final

KINDS: Final = {
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "InferenceService": ("serving.kserve.io/v1beta1", "inferenceservices"),
}
"""Kinds that need only their name: group and version, and the plural of their paths."""
SCALED_KINDS: Final = {kind: KINDS[kind][0] for kind in ("Deployment", "StatefulSet")}
"""Those of them that an autoscaler can scale, with their group and version."""
