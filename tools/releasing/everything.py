"""All artifacts of a release, in one folder that appears when all of them are there."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from forge import forge
from releasing import chart, mixin
from releasing.archives import SUMS, pack, write_sums
from releasing.boards import board_files
from releasing.checkout import CannotRelease, copy_tracked, moment
from releasing.image import make_image
from releasing.notes import notes, sections
from releasing.refusals import version_of
from releasing.wheels import make_sdist, make_wheels


def build(root: Path, out: Path, wanted: frozenset[str], image: str) -> None:
    """Write the `wanted` artifacts, the notes and the checksums into `out`, which they replace.

    `image` is the image's name without a tag. The same commit gives the same bytes.

    Raises:
        CannotRelease: a build failed, or `out` holds something else than an earlier release.
        TritonobsError: the chart or the boards could not be made.
    """
    if out.exists() and any(out.iterdir()) and not (out / SUMS).exists():
        raise CannotRelease(f"{out} holds something else than a release; remove it, or name another folder")
    version, when = version_of(root), moment(root)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=out.parent) as scratch:
        made = Path(scratch, "made")
        made.mkdir()
        tree = copy_tracked(root, Path(scratch, "tree"))
        if wanted & {"sdist", "wheels"}:
            _python(tree, made, when, wanted)
        if "chart" in wanted:
            files = chart.chart_files(tree, f"{image}:{version}")
            pack(files, made / f"tritonobs-chart-{version}.tgz", folder=chart.FOLDER, moment=when)
            shutil.copyfile(tree / chart.FLEET, made / f"tritonobs-chart-{version}.fleet.yaml")
        if "mixin" in wanted:
            files = mixin.mixin_files(tree, version)
            pack(files, made / f"tritonobs-mixin-{version}.tar.gz", folder=mixin.FOLDER, moment=when)
        if "boards" in wanted:
            for name, text in board_files().items():
                (made / f"tritonobs-board-{name}-{version}.json").write_text(text, encoding="utf-8")
        if "image" in wanted:
            make_image(root, made / f"tritonobs-image-{version}.oci.tar", image, version, when)
        changelog = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
        if version in sections(changelog):
            text = notes(changelog, version, forge(tree))
            (made / f"tritonobs-notes-{version}.md").write_text(text, encoding="utf-8")
        write_sums(made)
        shutil.rmtree(out, ignore_errors=True)
        made.rename(out)


def _python(tree: Path, made: Path, when: int, wanted: frozenset[str]) -> None:
    sdist = make_sdist(tree, made, when)
    if "wheels" in wanted:
        from releasing.sbom import bill  # noqa: PLC0415 (a release without wheels needs no cyclonedx)

        wheels = make_wheels(sdist, made, when)
        name = sdist.name.removesuffix(".tar.gz")
        (made / f"{name}.cdx.json").write_text(bill(wheels, when), encoding="utf-8")
    if "sdist" not in wanted:
        sdist.unlink()
