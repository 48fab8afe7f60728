"""A real control plane, started once for all tests that only add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.control_plane import ControlPlane, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTS = ("kubectl", "helm", "etcd", "kube-apiserver", "operator")


@pytest.fixture(name="cluster", scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    why = missing(*_PARTS)
    if why:
        pytest.skip(why)
    with ControlPlane(tmp_path_factory.mktemp("plane"), operator=True) as plane:
        for name in ("monitoring", "models"):
            plane.kubectl("create", "namespace", name)
        yield plane
