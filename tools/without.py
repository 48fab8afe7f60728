"""Take extensions out of a copy of the tree, and check that the rest is whole.

    python tools/without.py triage            # one extension: layers, types and unit tests of the rest
    python tools/without.py --each            # each extension by itself
    python tools/without.py --all             # all of them: the heart alone
    python tools/without.py --each -- tests/cli tests/serve    # these tests only

With an extension go its folder, its line in the registry, its row in docs/architecture.md, `tests/NAME`, and
every test that imports it. A test that needs a module of tests/support which imports the extension goes, too.
With its rules (`rules/extensions/NAME`, a line in extensions.libsonnet) and its rows of boards
(`dashboards/extensions/NAME.py`) go the runbooks of its alerts and their rows. Then golden files, boards and
the reference are written again, and tests of names, texts and labels of the other rules run. What these rules
compute is not tested again: tests/test_extensions.py holds that they are the same text, and that they read no
record that is gone.
Tests of documents stay out, because documents describe every extension; so do tests that make such copies.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tritonobs import registry  # noqa: E402 (from this checkout, whatever is installed)

_OF_THE_WHOLE = (
    *("tests/test_docs.py", "tests/test_runbooks.py", "tests/test_image.py"),
    *("tests/cli/test_suggested.py", "tests/cli/test_transcripts.py"),
    *("tests/test_extensions.py", "tests/test_places.py"),
)
"""Tests of documents and of the whole command line; tests that copy the tree, as this program does."""
_UNITS = ("-m", "not e2e and not container", "--ignore=tests/e2e")
_OF_RULES = tuple(
    f"test_{name}.py"
    for name in ("annotations", "chinese", "clusters", "guidelines", "labels", "names", "rulers")
)
"""Files of tests/rules that compute little: names, texts and labels of all rules."""
_ALERT = re.compile(r"\btext[.]alert\(\s*'(\w+)'")
_IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)(?: import (.+))?", re.MULTILINE)


def main() -> int:
    """Exit status 1 when something is broken without an extension."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="EXTENSION", choices=[[], *registry.NAMES])
    parser.add_argument("--each", action="store_true", help="each extension by itself")
    parser.add_argument("--all", action="store_true", help="all extensions at once")
    parser.add_argument("--workers", default="2", help="processes of pytest (default: 2)")
    given = sys.argv[1:]
    tests = given[given.index("--") + 1 :] if "--" in given else []
    chosen = parser.parse_args(given[: given.index("--")] if "--" in given else given)
    rounds = [(name,) for name in (registry.NAMES if chosen.each else chosen.names)]
    if chosen.all:
        rounds.append(registry.NAMES)
    if not rounds:
        parser.error("name an extension, or say --each or --all")
    broken = [names for names in rounds if not _whole_without(names, tests, chosen.workers)]
    for names in broken:
        print(f"broken without {', '.join(names)}", file=sys.stderr)
    return int(bool(broken))


def _whole_without(names: Sequence[str], tests: Sequence[str], workers: str) -> bool:
    """Whether layers, types and unit tests hold in a copy without these extensions."""
    with tempfile.TemporaryDirectory(prefix="without-") as folder:
        copy = Path(folder) / "tree"
        copy_tree(copy)
        gone = take_out(copy, names)
        print(f"=== without {', '.join(names)}: {len(gone)} files fewer ===", flush=True)
        bin_folder = Path(sys.executable).parent
        environment = {
            **os.environ,
            "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'tests'}",
            "TRITONOBS_TOOLS": os.environ.get("TRITONOBS_TOOLS", str(ROOT / ".tools")),
        }
        rules = any(path.parts[:2] == ("rules", "extensions") for path in gone)
        if rules:
            _write_again(copy, environment)
        left = [test for test in tests if (copy / test.partition("::")[0]).exists()]
        left = left if tests else ["tests", *_ignored(copy / "tests" / "rules", _OF_RULES if rules else ())]
        steps = (
            ("layers", [bin_folder / "lint-imports", "--no-cache"]),
            ("types", [bin_folder / "mypy"]),
            ("tests", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_UNITS, "-n", workers,
                       *(f"--ignore={test}" for test in _OF_THE_WHOLE), *left]),
        )  # fmt: skip
        # All of them, so that one run shows everything that is broken.
        done = [_step(what, [*map(str, words)], copy, environment) for what, words in steps]
        return all(done)


def _ignored(folder: Path, kept: Sequence[str]) -> list[str]:
    """The options of pytest that leave out the tests of a folder, except some files."""
    return [f"--ignore={path}" for path in sorted(folder.iterdir()) if path.name not in kept]


def _write_again(tree: Path, environment: dict[str, str]) -> None:
    """Write what commands make of rules and boards: golden files, boards of the mixin, generated pages."""
    pages = (
        "tests/render/test_golden.py",
        "tests/spec/test_reference.py",
        "tests/cli/test_commands_page.py",
    )
    for words in (("dashboards/generate.py",), ("-m", "pytest", "-q", "-p", "no:cacheprovider", *pages)):
        subprocess.run(
            [sys.executable, *words],
            cwd=tree,
            env=environment | {"TRITONOBS_GOLDEN": "write"},
            stdout=subprocess.PIPE,
            check=True,
        )


def _step(what: str, words: list[str], folder: Path, environment: dict[str, str]) -> bool:
    began = time.monotonic()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    print(
        f"{what}: {'well' if not done.returncode else 'BROKEN'}, {time.monotonic() - began:.0f} s", flush=True
    )
    # What was well needs its last line, what is broken needs all.
    print("\n".join(f"  {line}" for line in (lines[-1:] if not done.returncode else lines[-60:])), flush=True)
    return not done.returncode


def copy_tree(folder: Path) -> None:
    """The files of the tree that git knows or would know, the compiled record path, and Python's bytecode."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 (the user's own)
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    package = ROOT / "tritonobs"
    built = (str(path.relative_to(ROOT)) for kind in ("*.so", "*.pyc") for path in package.rglob(kind))
    for name in (*listed, *built):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def take_out(tree: Path, names: Sequence[str]) -> set[Path]:
    """Take these extensions out of a tree; gives the files that went."""
    before = _files(tree)
    alerts = [alert for name in names for alert in _alerts(tree / "rules" / "extensions" / name)]
    for name in names:
        shutil.rmtree(tree / "tritonobs" / "extensions" / name)
        for folder in (tree / "tests" / name, tree / "rules" / "extensions" / name):
            shutil.rmtree(folder, ignore_errors=True)
        (tree / "dashboards" / "extensions" / f"{name}.py").unlink(missing_ok=True)
    for alert in alerts:
        (tree / "docs" / "runbooks" / f"{alert}.md").unlink()
    for page in ("runbooks/README.md", "drills.md"):
        _drop_lines(tree / "docs" / page, [f"| [{alert}](" for alert in alerts])
    _drop_lines(tree / "rules" / "extensions" / "extensions.libsonnet", [f"  {name}: " for name in names])
    _drop_lines(tree / "tritonobs" / "registry.py", [f'    "{name}",' for name in names])
    _drop_lines(tree / "docs" / "architecture.md", [f"| `{name}` |" for name in names])
    # What a contract of layers allows an extension, or all of them: `lint-imports` refuses an unused line.
    allowed = [*names, "*"] if {*names} == {*registry.NAMES} else names
    _drop_lines(tree / "pyproject.toml", [f'  "tritonobs.extensions.{name}.' for name in allowed])
    own = re.compile(rf"\btritonobs\.extensions\.({'|'.join(names)})\b")
    users = [path for path in _python(tree, "tests", "bench", "tools") if own.search(path.read_text())]
    lost: set[str] = set()
    page = tree / "tests" / "support" / "README.md"
    # A helper that is gone takes its users with it, and they may be helpers of others.
    while users:
        for path in users:
            path.unlink()
            lost |= _modules(path, tree)
        users = [path for path in _python(tree, "tests", "bench") if _needed(path, tree) & lost]
    shared = [name.removeprefix("support.") for name in lost if name.startswith("support.")]
    _drop_lines(page, [f"| `{name}` |" for name in shared])
    return before - _files(tree)


def _alerts(folder: Path) -> list[str]:
    """The alerts that the rules in this folder define; none where there is none."""
    return [name for path in folder.glob("*.libsonnet") for name in _ALERT.findall(path.read_text())]


def _modules(path: Path, tree: Path) -> set[str]:
    """The name by which tests import this file, or, after `bench.`, benchmarks each other."""
    for root, base in ((tree / "tests", tree / "tests" / "support"), (tree, tree / "bench")):
        if path.is_relative_to(base):
            dotted = ".".join(path.relative_to(root).with_suffix("").parts)
            return {dotted.removesuffix(".__init__")}
    return set()


def _needed(path: Path, tree: Path) -> set[str]:
    """The modules that a file imports, by the same names."""
    found: set[str] = set()
    for module, members in _IMPORT.findall(path.read_text()):
        found.add(module)
        found |= {f"{module}.{word.strip()}" for word in members.strip("()").split(",") if word.strip()}
    return found | {f"bench.{name}" for name in found if path.is_relative_to(tree / "bench")}


def _drop_lines(path: Path, beginnings: Iterable[str]) -> None:
    starts = tuple(beginnings)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(starts)), encoding="utf-8")


def _python(tree: Path, *folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((tree / folder).rglob("*.py"))]


def _files(tree: Path) -> set[Path]:
    return {path.relative_to(tree) for path in tree.rglob("*") if path.is_file() and path.suffix != ".pyc"}


if __name__ == "__main__":
    sys.exit(main())
