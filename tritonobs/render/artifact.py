"""One file tritonobs produces: its place and its text. The only writer of files and of YAML in `render`.

promtool and amtool are asked whether they accept what was written, before it is used.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from tritonobs.errors import RenderFailed
from tritonobs.files import refused
from tritonobs.outside import shown

_TIMEOUT_SECONDS = 120
_RULES_END = ".rules.yml"
# The first comment of every file of rules.
_MADE = b"# Made by tritonobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file to be written; `path` is relative, with forward slashes, and stays inside its folder."""

    path: str
    text: str

    def __post_init__(self) -> None:
        """Refuse a path that could leave the folder."""
        parts = PurePosixPath(self.path)
        if parts.is_absolute() or not parts.parts or ".." in parts.parts:
            raise ValueError(f"{self.path!r} is not a path inside a folder")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # the C dumper has no types
    """Writes text of several lines as a block, so that people can read the expressions."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(value: object, *, comment: str = "") -> str:
    """The value as YAML, keys in their given order, below `comment` (no `#` in it) where there is one.

    Every text survives; text that YAML would read as a number or a truth value is quoted.
    """
    # A name in it may have what no YAML has.
    head = "".join(f"# {shown(line)}\n" for line in comment.splitlines())
    return head + str(
        yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=1000
        )
    )


def write_artifacts(artifacts: Iterable[Artifact], folder: Path) -> tuple[Path, ...]:
    """Write every artifact below `folder` and say which files changed.

    A reader sees the old file or the new one, never half of one; an unchanged file is not touched.

    Raises:
        FileUnusable: a file cannot be written; those before it are.
    """
    return tuple(path for artifact in artifacts if (path := _write(artifact, folder)))


def _write(artifact: Artifact, folder: Path) -> Path | None:
    path = folder / artifact.path
    data = artifact.text.encode()
    with refused(path, "written"):
        if path.is_file() and path.read_bytes() == data:
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_bytes(data)
        new.replace(path)
    return path


def left_over(artifacts: Iterable[Artifact], folder: Path) -> tuple[Path, ...]:
    """Rules below `folder` that an earlier build wrote beside those of this one, and this one did not.

    People load rules by a pattern like `*.rules.yml`, which would load these as well.
    """
    written = {folder / artifact.path for artifact in artifacts}
    folders = sorted({path.parent for path in written if path.name.endswith(_RULES_END)})
    there = (path for inside in folders for path in sorted(inside.glob(f"*{_RULES_END}")))
    return tuple(path for path in there if path not in written and _is_ours(path))


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MADE)) == _MADE
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program that judges one artifact (promtool follows it to the rule files)."""

    program: str
    arguments: tuple[str, ...]
    path: str


PROMETHEUS = Checker(program="promtool", arguments=("check", "config"), path="prometheus/prometheus.yml")
ALERTMANAGER = Checker(program="amtool", arguments=("check-config",), path="alertmanager/alertmanager.yml")
# Shards differ in their number alone, so the first represents all.
SHARD = Checker(program="promtool", arguments=("check", "config"), path="prometheus/shards/shard-0.yml")
AGENTS = Checker(program="promtool", arguments=("check", "config"), path="prometheus/agents.yml")
CHECKERS = (PROMETHEUS, SHARD, AGENTS, ALERTMANAGER)


_NO_DISCOVERY = re.compile(r"field \w+_sd_configs not found")
_WITHOUT_DISCOVERY = """
This promtool was built without that way to find servers, as Debian's is without Kubernetes. A Prometheus of
the same package would refuse the file, too: take both from a release of Prometheus."""


def check_artifacts(folder: Path, checker: Checker, program: Path) -> str:
    """Run a checker over a built folder and return what it says.

    Raises:
        RenderFailed: it refused a file, or could not be run; the text is its own.
    """
    try:
        done = subprocess.run(
            [str(program), *checker.arguments, checker.path],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RenderFailed(f"{checker.program} could not be run: {error}") from error
    said = (done.stdout + done.stderr).strip()
    if done.returncode:
        hint = _WITHOUT_DISCOVERY if _NO_DISCOVERY.search(said) else ""
        raise RenderFailed(f"{checker.program} rejects the built files:\n{said}{hint}")
    return said
