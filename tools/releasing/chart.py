"""The Helm chart of a release: what `tritonobs build --target kubernetes` makes of an example."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from releasing.checkout import CannotRelease
from tritonobs.plan.build import build_plan
from tritonobs.registry import extensions, resolved
from tritonobs.spec.load import load_fleet

FOLDER: Final = "tritonobs"
"""The folder in the archive, which Helm wants to have the chart's name."""
FLEET: Final = PurePosixPath("examples/kubernetes.yaml")
_TARGET = "kubernetes"
_CHART = PurePosixPath("kubernetes/chart")
_NO_IMAGE = 'image: ""'


def chart_files(root: Path, image: str) -> dict[str, bytes]:
    """The files of the chart by path. Its value `image` is `image`, which has a tag.

    Raises:
        CannotRelease: there is no such target here.
        RenderFailed: something is too large for an object.
        SpecInvalid: the fleet file is wrong.
    """
    targets = {target.name: target for one in extensions().values() for target in one.targets}
    if _TARGET not in targets:
        raise CannotRelease(f"build has no target {_TARGET} here; leave the chart out: --skip chart")
    fleet = root / FLEET
    artifacts = resolved(targets[_TARGET].at)(build_plan(load_fleet(fleet), fleet.parent), fleet)
    made = {PurePosixPath(one.path): one.text for one in artifacts}
    files = {
        str(path.relative_to(_CHART)): text for path, text in made.items() if path.is_relative_to(_CHART)
    }
    values = files["values.yaml"]
    if values.count(_NO_IMAGE) != 1:
        raise ValueError(f"values.yaml of the chart has no line {_NO_IMAGE}")
    files["values.yaml"] = values.replace(_NO_IMAGE, f'image: "{image}"')
    return {path: text.encode() for path, text in files.items()}
