"""Distribution packages of what a stack needs, installed from Debian or Ubuntu without root.

`apt-get download` and `dpkg -x` need no root and, unlike `apt-get install`, start no system service on the
ports that the stack needs.

Debian's Alertmanager reads its own templates from /usr/share, where only root can put them. Its binary is
given another path of the same length, `/proc/self/fd/9/…`, and a starter that opens the unpacked folder as
descriptor 9: it then runs from anywhere, with any working folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonobs.errors import StackError
from tritonobs.programs import look, tools_folder

PYTHON_SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"
LIBPYTHON = f"libpython{PYTHON_SERIES}.so.1.0"

_HOME = b"/usr/share/prometheus/alertmanager"
_THROUGH_DESCRIPTOR = b"/proc/self/fd/9/./././alertmanager"
_STARTER = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec 9<"$here/../share/prometheus"
exec "$here/{real}" "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What we need of a distribution package; the first name that exists is downloaded."""

    names: tuple[str, ...]
    files: tuple[str, ...]


PACKAGES = (
    Package(names=("prometheus",), files=("prometheus", "promtool")),
    Package(names=("prometheus-alertmanager",), files=("prometheus-alertmanager", "amtool")),
)
SECOND_ENGINE = Package(names=("victoria-metrics",), files=("victoria-metrics", "vmagent", "vmalert"))
"""Not part of a stack: the tests evaluate the rules with it, too."""
# The Python backend's stub links to it; Debian's python3 does not bring it.
LIBPYTHON_PACKAGE = Package(
    names=(f"libpython{PYTHON_SERIES}", f"libpython{PYTHON_SERIES}t64"), files=(LIBPYTHON,)
)


def find_libpython() -> Path | None:
    """The folder of this Python's shared library, or None when only a static Python is here."""
    folders = [
        Path(sysconfig.get_config_var("LIBDIR") or "/nonexistent"),
        Path("/usr/lib") / str(sysconfig.get_config_var("MULTIARCH")),
        tools_folder() / "usr" / "lib" / str(sysconfig.get_config_var("MULTIARCH")),
    ]
    return next((folder for folder in folders if (folder / LIBPYTHON).exists()), None)


def missing_packages() -> tuple[Package, ...]:
    """The packages whose files are not here yet."""
    wanted = [package for package in PACKAGES if any(look(file) is None for file in package.files)]
    return (*wanted, LIBPYTHON_PACKAGE) if find_libpython() is None else tuple(wanted)


def install(packages: Iterable[Package], say: Callable[[str], None]) -> None:
    """Download and unpack packages into the tools folder.

    Raises:
        StackError: apt is missing or refused; the text is its last line.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise StackError(
            "no apt-get here; put prometheus, promtool, alertmanager and amtool on PATH "
            "(releases: https://prometheus.io/download/)"
        )
    target = tools_folder()
    target.mkdir(parents=True, exist_ok=True)
    for package in packages:
        say(f"bringing {package.names[0]} into {target}")
        with tempfile.TemporaryDirectory(prefix="tritonobs-apt-") as scratch:
            _download(package.names, Path(scratch))
            for archive in Path(scratch).glob("*.deb"):
                _run(["dpkg", "-x", str(archive), str(target)], Path(scratch))
    alertmanager = target / "usr" / "bin" / "prometheus-alertmanager"
    if alertmanager.exists():
        relocate_alertmanager(alertmanager)


def _download(names: Sequence[str], folder: Path) -> None:
    """Fetch the first package that exists; with lists of our own where the machine's are absent or old."""
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True)
    own_lists = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={folder / 'cache'}"]
    refusals = []
    for options in ([], own_lists):
        if options:
            _run(["apt-get", "-q", *options, "update"], folder)
        for name in names:
            refusal = _refusal(["apt-get", "-q", *options, "download", name], folder)
            if not refusal:
                return
            refusals.append(refusal)
    raise StackError(refusals[-1])


def _run(argv: list[str], folder: Path) -> None:
    refusal = _refusal(argv, folder)
    if refusal:
        raise StackError(refusal)


def _refusal(argv: list[str], folder: Path) -> str:
    """Run a command; the last line of what it says when it fails, else nothing."""
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
    return f"{' '.join(argv)}: {lines[-1]}" if done.returncode else ""


def relocate_alertmanager(program: Path) -> bool:
    """Let an unpacked `prometheus-alertmanager` run without root; whether there was anything to do."""
    templates = program.parent.parent / "share" / "prometheus" / "alertmanager" / "default.tmpl"
    if not program.is_file() or not templates.is_file():
        return False
    code = program.read_bytes()
    if _HOME not in code:
        return False
    real = program.with_name(f".{program.name}.real")
    real.write_bytes(code.replace(_HOME, _THROUGH_DESCRIPTOR))
    real.chmod(0o755)
    starter = program.with_name(f".{program.name}.new")
    starter.write_text(_STARTER.format(real=real.name), encoding="utf-8")
    starter.chmod(0o755)
    starter.replace(program)
    return True
