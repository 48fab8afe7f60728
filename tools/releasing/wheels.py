"""The source archive, and the wheels that are built out of it.

Zig's C compiler builds the compiled record path for both architectures and for glibc 2.17, on any machine and
without a container. auditwheel checks that, and gives the wheels their manylinux tags.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from releasing.checkout import CannotRelease, run

ARCHITECTURES: Final = ("x86_64", "aarch64")
_GLIBC, _POLICY = "2.17", "manylinux_2_17"
_MODULES = ("auditwheel", "build", "cyclonedx", "hatchling", "ziglang")


def missing() -> list[str]:
    """The packages that are not installed, and are needed to build wheels and their bill of materials."""
    absent = [name for name in _MODULES if not importlib.util.find_spec(name)]
    found = shutil.which("patchelf", path=_environment({})["PATH"])
    return absent if found else [*absent, "patchelf"]


def unfit_headers(folder: Path | None = None) -> str:
    """Why wheels for both architectures cannot be compiled with the headers of this Python; "" if they can.

    `folder` is that of the headers, when it is another one.
    """
    folder = folder or Path(sysconfig.get_path("include"))
    settings = folder / "pyconfig.h"
    instead = "use one of pyenv or python.org: make release PYTHON=python3.12 VENV=.venv-release"
    if not (folder / "Python.h").exists() or not settings.exists():
        return f"{folder} has no headers of Python; {instead}"
    if "-linux-gnu/" in settings.read_text(encoding="utf-8"):
        return f"the headers of Python in {folder} are for one architecture, as Debian's are; {instead}"
    return ""


def make_sdist(tree: Path, out: Path, moment: int) -> Path:
    """The source archive of a clean copy of the checkout.

    Raises:
        CannotRelease: the build failed.
    """
    _build("--sdist", tree, out, {"SOURCE_DATE_EPOCH": str(moment)})
    (archive,) = out.glob("*.tar.gz")
    return archive


def make_wheels(sdist: Path, out: Path, moment: int) -> list[Path]:
    """A wheel for each architecture with the compiled record path, and one for every other machine without.

    Raises:
        CannotRelease: a build failed, or a wheel is not what its name promises.
    """
    with tempfile.TemporaryDirectory(prefix="tritonobs-release-") as scratch:
        with tarfile.open(sdist) as packed:
            packed.extractall(scratch, filter="data")
        (tree,) = Path(scratch).iterdir()
        time = {"SOURCE_DATE_EPOCH": str(moment)}
        made = [_manylinux(tree, out, architecture, time) for architecture in ARCHITECTURES]
        pure = Path(scratch, "pure")
        _build("--wheel", tree, pure, {**time, "TRITONOBS_PURE_PYTHON": "1"})
        (wheel,) = pure.glob("*-py3-none-any.whl")
        return [*made, wheel.rename(out / wheel.name)]


def _manylinux(tree: Path, out: Path, architecture: str, time: dict[str, str]) -> Path:
    """The wheel for one architecture."""
    compiler = f"{sys.executable} -m ziglang cc -target {architecture}-linux-gnu.{_GLIBC} -g0 -s"
    # What sysconfig says of the machine, which a wheel is named after, when one builds for another.
    cross = {"CC": compiler, "_PYTHON_HOST_PLATFORM": f"linux-{architecture}"}
    with tempfile.TemporaryDirectory(prefix="tritonobs-wheel-") as scratch:
        said = _build("--wheel", tree, Path(scratch), {**time, **cross})
        built = list(Path(scratch).glob(f"*-cp310-abi3-linux_{architecture}.whl"))
        if not built:
            raise CannotRelease(f"the record path was not compiled for {architecture}:\n{said}")
        # It takes the oldest policy that the wheel fits; by name it knows only those of its own machine.
        words = ["-m", "auditwheel", "repair", "--plat", "auto", "--only-plat", "--wheel-dir", str(out)]
        said = run([sys.executable, *words, str(built[0])], tree, _environment(time), with_errors=True)
    made = list(out.glob(f"*{_POLICY}_{architecture}*.whl"))
    if len(made) != 1:
        raise CannotRelease(f"auditwheel made no {_POLICY}_{architecture} of the wheel:\n{said}")
    return made[0]


def _build(what: str, tree: Path, out: Path, variables: dict[str, str]) -> str:
    # Not isolated: what builds is pinned by the extra `release`, and is that of this machine's architecture.
    words = ["-m", "build", "--no-isolation", what, "--outdir", str(out), str(tree)]
    return run([sys.executable, *words], tree, _environment(variables), with_errors=True)


def _environment(variables: dict[str, str]) -> dict[str, str]:
    # auditwheel looks for patchelf beside this Python, whose environment may not be activated.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    kept = {name: value for name, value in os.environ.items() if name != "TRITONOBS_PURE_PYTHON"}
    return {**kept, "PATH": path, **variables}
