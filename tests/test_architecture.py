"""The architecture: layers, file sizes, lazy imports."""

import re
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median

import grimp
import pytest
from importlinter import api

from tritonobs import registry

ROOT = Path(__file__).parent.parent
CODE = sorted(
    path
    for folder in ("tritonobs", "models", "dashboards", "rules", "bench", "tools", "tests")
    for pattern in ("*.py", "*.libsonnet", "*.jsonnet")
    for path in (ROOT / folder).rglob(pattern)
)
PACKAGES = {
    *(path.parent.name for path in (ROOT / "tritonobs").glob("*/__init__.py")),
    *("programs", "replicas", "tasks", "testing"),
}
"""What the page has a row for: the packages, and the modules that have a layer of their own."""


def test_imports_only_point_down():
    """Every contract of pyproject.toml holds."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_no_modules_of_the_heart_import_each_other_in_a_circle():
    """Not for types either: what is read together stands together."""
    graph = grimp.build_graph("tritonobs", cache_dir=None)
    heart = [name for name in graph.modules if not name.startswith("tritonobs.extensions")]

    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in heart}).prepare()


def test_the_page_shows_the_layers_and_the_imports():
    """docs/architecture.md lists every package in the order of the layers, with the packages it imports."""
    (contract, *_) = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    layers = [re.split(r" [:|] ", layer) for layer in contract["layers"]]
    packages = [name for layer in layers for name in sorted(layer) if name in PACKAGES]
    imports = defaultdict(set)
    graph = grimp.build_graph("tritonobs", cache_dir=None)
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            user, used = (f"{name}.".split(".")[1] for name in (module, imported))
            if user != used and used in PACKAGES:
                imports[user].add(used)

    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = page.split("## Packages")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.*) ?\|$", part, re.MULTILINE)

    assert [name for name, _ in rows] == packages
    for name, uses in rows:
        if uses.strip() != "everything below":
            assert re.findall(r"`(\w+)`", uses) == sorted(imports[name]), name


def test_the_page_lists_every_extension_with_its_commands():
    """docs/architecture.md has a row for each, as the registry has it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = page.split("## Extensions")[1].split("\n## ")[0]

    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", part, re.MULTILINE)

    assert rows == [
        (name, one.summary, ", ".join(f"`{word}`" for word in sorted(_words(one))))
        for name, one in registry.extensions().items()
    ]


def _words(extension):
    """What a user types to use it."""
    for command in extension.commands:
        yield command.name if command.under[0].isupper() else f"{command.under} {command.name}"
    for target in extension.targets:
        yield f"build --target {target.name}"


def test_the_page_names_at_most_twelve_files_to_read():
    """They exist."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = page.split("## Twelve files")[1].split("\n## ")[0]

    files = re.findall(r"^\| `([\w./]+)` \|", part, re.MULTILINE)

    assert 0 < len(files) <= 12
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_page_of_what_tests_share_names_every_module():
    """tests/support/README.md has a row for each module, with the first line of its docstring."""
    folder = ROOT / "tests" / "support"
    firsts = {
        path.parent.name if path.stem == "__init__" else path.stem: path.read_text(encoding="utf-8")
        .splitlines()[0]
        .strip('"')
        for path in (*folder.glob("*.py"), *folder.glob("*/__init__.py"))
        if path != folder / "__init__.py"
    }

    rows = re.findall(
        r"^\| `(\w+)` \| (.+) \|$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert dict(rows) == firsts


def test_no_file_is_longer_than_500_lines():
    """What is read together stands together, up to 500 lines."""
    long = {str(path.relative_to(ROOT)): lines for path in CODE if (lines := _lines(path)) > 500}

    assert long == {}


def test_the_median_file_fits_on_two_screens():
    """Half of the files have at most 135 lines."""
    assert median(_lines(path) for path in CODE) <= 135


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("tritonobs.stage", ("numpy", "json.tool", "requests", "yaml", "click", "logging.config")),
        (
            "tritonobs.cli",
            ("rich", "requests", "pydantic", "grafanalib", "_gojsonnet", "starlette", "tritonclient"),
        ),
    ],
)
def test_importing_stays_light(module, heavy):
    """What is loaded late stays unloaded: `--help` and inference images pay nothing for it."""
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


_WITHOUT_REASON = re.compile(r"# (?:noqa(?:: [A-Z0-9, ]+)?|type: ignore(?:\[[^]]*\])?|pragma: no cover) *$")


def test_a_rule_that_is_switched_off_has_its_reason():
    """In the line where it is: `noqa: X (why)`, `type: ignore[x] # why`."""
    assert [
        f"{path.relative_to(ROOT)}:{number}"
        for path in CODE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _WITHOUT_REASON.search(line)
    ] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x = 1  # noqa", True),
        ("x = 1  # noqa: S101, S102", True),
        ("x = 1  # type: ignore[misc]", True),
        ("x = 1  # noqa: S101 (mypy needs it)", False),
        ("x = 1  # type: ignore[misc] # it has no types", False),
    ],
)
def test_a_missing_reason_is_found(line, found):
    """A code alone does not say why."""
    assert bool(_WITHOUT_REASON.search(line)) is found
