"""The image of `tritonobs serve` for both architectures, as an OCI archive with its bill of materials."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from forge import forge
from releasing.checkout import CannotRelease, revision, run

PLATFORMS: Final = "linux/amd64,linux/arm64"


def missing() -> str:
    """What has to be installed before an image can be built, and how; "" if nothing."""
    try:
        for words in (["version", "--format", "{{.Server.Version}}"], ["buildx", "version"]):
            run(["docker", *words], Path.cwd())
    except CannotRelease as error:
        return (
            "the image needs a running docker with buildx, and emulation of the other architecture "
            f"(docker run --privileged --rm tonistiigi/binfmt --install all): {error}"
        )
    return ""


def make_image(root: Path, archive: Path, image: str, version: str, moment: int) -> None:
    """Build the image into an OCI archive, with attestations: its bill of materials, and how it was built.

    `image` is its name without a tag.

    Raises:
        CannotRelease: the build failed.
    """
    about = {"VERSION": version, "REVISION": revision(root), "SOURCE": forge(root)}
    words = [
        *("docker", "buildx", "build", "--file", "docker/Dockerfile", "--target", "tritonobs"),
        *("--platform", PLATFORMS, "--sbom=true", "--provenance=mode=max"),
        *(word for name, value in about.items() for word in ("--build-arg", f"{name}={value}")),
        *("--tag", f"{image}:{version}"),
        *("--output", f"type=oci,dest={archive},rewrite-timestamp=true", "."),
    ]
    run(words, root, {**os.environ, "SOURCE_DATE_EPOCH": str(moment)})
