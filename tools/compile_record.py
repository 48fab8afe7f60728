"""Compile the record path of `tritonobs.stage`: in this checkout, in another folder, or for a wheel.

    python tools/compile_record.py [FOLDER]

One library serves Python 3.10 and every later one. Without it `tritonobs.stage` does the same in Python, so a
machine without a compiler builds a wheel that is plain Python, and TRITONOBS_PURE_PYTHON=1 asks for that one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    BuildHookInterface: Any = object
else:
    try:
        from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    except ImportError:  # no wheel is built here
        BuildHookInterface = object

STAGE = Path(__file__).parents[1] / "tritonobs" / "stage"
SOURCE = STAGE / "_record.c"
LIBRARY = "_record.abi3.so"


def compile_record(folder: Path) -> Path | None:
    """The library in `folder`; nothing if this machine has no C compiler or no headers of Python.

    Raises:
        subprocess.CalledProcessError: the compiler failed; its `stderr` says why.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    headers = Path(sysconfig.get_path("include"))
    if not shutil.which(compiler[0]) or not (headers / "Python.h").exists():
        return None
    library = folder / LIBRARY
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    # Two environments may be set up beside each other, and a running Triton may have the old one open.
    with tempfile.TemporaryDirectory(prefix=".record-", dir=folder) as scratch:
        made = Path(scratch, LIBRARY)
        subprocess.run(
            [*compiler, *options, f"-I{headers}", str(SOURCE), "-o", str(made)],
            check=True,
            capture_output=True,
            text=True,
        )
        made.replace(library)
    return library


def compile_once() -> Path | None:
    """The library in this checkout, compiled if it is missing or older than its source.

    Raises:
        subprocess.CalledProcessError: the compiler failed; its `stderr` says why.
    """
    library = STAGE / LIBRARY
    if library.exists() and library.stat().st_mtime >= SOURCE.stat().st_mtime:
        return library
    return compile_record(STAGE)


class CompiledRecord(BuildHookInterface):
    """Puts the library into the wheel, and says so in the wheel's name."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """As hatchling calls it before a wheel is built; an editable one uses the library in the checkout."""
        if os.environ.get("TRITONOBS_PURE_PYTHON"):
            return
        editable = version == "editable"
        try:
            if editable:
                library = compile_once()
            else:
                # Needed until the wheel is written; gone when this process ends.
                self._folder = tempfile.TemporaryDirectory(prefix="tritonobs-build-")
                library = compile_record(Path(self._folder.name))
        except subprocess.CalledProcessError as error:
            self.app.display_warning(f"the record path was not compiled:\n{error.stderr}")
            return
        if library is None:
            self.app.display_warning("no C compiler or no Python.h: tritonobs.stage records in plain Python")
        if library is None or editable:
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp310-abi3-{platform}"
        build_data["force_include"][str(library)] = f"tritonobs/stage/{LIBRARY}"


if __name__ == "__main__":
    made = compile_record(Path(sys.argv[1]) if len(sys.argv) > 1 else STAGE)
    sys.exit(None if made else "no C compiler (cc, or what CC names) or no Python.h: nothing was compiled")
