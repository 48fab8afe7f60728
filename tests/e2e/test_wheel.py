"""A release works from its artifacts; its wheel is enough: installed anywhere, working from any folder."""

import asyncio
import email
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import try_release
from releasing import wheels
from releasing.archives import SUMS, write_sums
from support.agents import Served
from tritonobs import __version__
from tritonobs.cli import COMMANDS
from tritonobs.extensions.mcp.tools import OFFERED, is_there
from tritonobs.programs import tools_folder

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")

# In one process: a start of Python costs more than a help text.
HELPS = """
from click.testing import CliRunner
from tritonobs.cli import COMMANDS, group
for name in COMMANDS:
    print(name, CliRunner().invoke(group, [name, "--help"]).exit_code, sep=":")
"""


@pytest.fixture(name="release", scope="module")
def _release(tmp_path_factory):
    """Everything but the image, of this checkout as it is."""
    if absent := wheels.missing():
        pytest.skip(f"{', '.join(absent)} not here; run: make setup")
    if why := wheels.unfit_headers():
        pytest.skip(why)
    return _released(tmp_path_factory.mktemp("release") / "out")


@pytest.fixture(name="wheel", scope="module")
def _wheel(release):
    """The wheel for this machine."""
    (wheel,) = release.glob(f"*manylinux*_{platform.machine()}.whl")
    return wheel


def _released(out: Path, umask: int = 0o022, **variables: str) -> Path:
    words = [sys.executable, ROOT / "tools" / "release.py", "--trial", "--skip", "image", "--out", out]
    env = {**os.environ, **variables}
    done = subprocess.run(words, env=env, umask=umask, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(name="described", scope="module")
def _described():
    tomllib = pytest.importorskip("tomllib", reason="reads pyproject.toml with Python 3.11 or newer")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _build(folder: Path, **variables: str) -> Path:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT],
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def _interpreter(version: str) -> str:
    """A Python of this series: the one that runs, on PATH, or one of pyenv's."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return sys.executable
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = str(pyenv[-1]) if pyenv else shutil.which(f"python{version}")
    return found or pytest.skip(f"no Python {version} here; with pyenv: pyenv install {version}")


def _environment(folder: Path, requirement: str, interpreter: str = sys.executable) -> Path:
    """A Python with this installed and nothing else; this Python's pip installs it, without its bytecode."""
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    python = folder / "bin" / "python"
    _pip(python, "install", "--quiet", "--no-compile", requirement)
    return python


def _pip(python: Path, *words: str) -> str:
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *words]
    return subprocess.run(pip, check=True, capture_output=True, text=True).stdout


def test_the_bare_wheel_brings_no_dependency(wheel, tmp_path):
    """An inference image gets the stage instrumentation and nothing else."""
    python = _environment(tmp_path / "bare", str(wheel))

    installed = _pip(python, "list", "--format=freeze")
    subprocess.run([python, "-c", "import tritonobs.stage"], check=True, cwd=tmp_path)
    said = subprocess.run([python, "-m", "tritonobs", "--help"], check=False, capture_output=True, text=True)

    assert [line.split("==")[0].split(" ")[0] for line in installed.splitlines()] == ["tritonobs"]
    assert said.returncode != 0
    assert "pip install 'tritonobs[cli]'" in said.stderr


def test_every_artifact_works_without_the_checkout(release, monkeypatch, capsys):
    """Each in a new environment or folder; with Helm, too, where tools/setup_kubernetes.sh has brought it."""
    monkeypatch.setenv("PATH", str(tools_folder() / "kubernetes" / "bin"), prepend=os.pathsep)

    code = try_release.main([str(release)])

    said = capsys.readouterr().out
    assert code == 0, said
    skipped = set(re.findall(r"^  skipped +(\w+)", said, re.MULTILINE))
    assert skipped <= {"helm", "image"}, said


def test_the_same_commit_gives_the_same_bytes(release, tmp_path):
    """With another umask, time zone and locale, in another folder."""
    again = _released(tmp_path / "again", 0o077, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="7")

    assert (again / SUMS).read_text() == (release / SUMS).read_text()


def test_both_architectures_have_a_wheel_with_a_library_of_theirs(release):
    """For glibc 2.17 and Python 3.10 or later; the machine in the ELF header is that of the name."""
    machines = {"x86_64": 62, "aarch64": 183}
    found = {}
    for wheel in release.glob("*-cp310-abi3-*manylinux_2_17_*.whl"):
        library = zipfile.ZipFile(wheel).read("tritonobs/stage/_record.abi3.so")
        found[re.search(r"(x86_64|aarch64)$", wheel.stem)[1]] = int.from_bytes(library[18:20], "little")

    assert found == machines


def test_a_wheel_without_the_compiled_record_path_does_not_pass_for_one(release, tmp_path, capsys):
    """Its name promises the library, and what is in it does not."""
    (pure,) = release.glob("*-py3-none-any.whl")
    name = f"tritonobs-{__version__}-cp310-abi3-manylinux_2_17_{platform.machine()}.whl"
    shutil.copyfile(pure, tmp_path / name)
    (tmp_path / f"tritonobs-notes-{__version__}.md").write_text("notes")
    write_sums(tmp_path)

    assert try_release.main([str(tmp_path), "--only", "wheel"]) == 1
    assert "records by Python, because none was compiled" in capsys.readouterr().out


@pytest.mark.parametrize("version", [PYTHONS[0], PYTHONS[-1]])
def test_the_record_path_is_compiled_for_every_python(wheel, tmp_path, version):
    """One library within the limited API of 3.10."""
    python = _environment(tmp_path / "bare", str(wheel), _interpreter(version))
    probe = "from tritonobs.stage import cells; print(cells.COMPILED)"
    done = subprocess.run(
        [python, "-I", "-c", probe], check=True, capture_output=True, text=True, cwd=tmp_path
    )

    assert "-cp310-abi3-manylinux" in wheel.name
    assert done.stdout == "True\n"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here; on Debian: apt-get install gcc")
def test_a_checkout_installed_in_place_has_the_compiled_record_path(tmp_path):
    """`make setup` and `make demo` install it so; what runs there is what was measured."""
    checkout = tmp_path / "checkout"
    git = shutil.which("git") or pytest.skip("no git here; on Debian: apt-get install git")
    subprocess.run([git, "clone", "--quiet", "--depth", "1", f"file://{ROOT}", checkout], check=True)
    python = _environment(tmp_path / "bare", f"--editable={checkout}")
    done = subprocess.run(
        [python, "-m", "tritonobs", "--version"], check=True, capture_output=True, text=True, cwd=tmp_path
    )

    assert done.stdout.splitlines()[1] == "record path: compiled"


def test_a_machine_without_a_compiler_builds_a_wheel_that_records_in_python(tmp_path):
    """For any machine, and with the same promises."""
    wheel = _build(tmp_path / "wheel", CC="no-such-compiler")
    python = _environment(tmp_path / "bare", str(wheel))
    probe = "from tritonobs.stage import cells; print(cells.COMPILED)"
    done = subprocess.run(
        [python, "-I", "-c", probe], check=True, capture_output=True, text=True, cwd=tmp_path
    )

    assert wheel.name.endswith("-py3-none-any.whl")
    assert done.stdout == "False\n"


@pytest.mark.parametrize("version", [PYTHONS[0], PYTHONS[-1]])
def test_the_command_line_works_on_the_oldest_and_newest_python_with_its_own_extra_only(
    wheel, tmp_path, version
):
    """Commands show their help, a fleet is built in an empty folder, and what needs more names the extra."""
    python = _environment(tmp_path / "cli", f"{wheel}[cli]", _interpreter(version))
    work = tmp_path / "empty"
    work.mkdir()
    (work / "fleet.yaml").write_bytes((ROOT / "examples" / "fleet.yaml").read_bytes())
    variables = {**os.environ, "TRITONOBS_TOOLS": str(tools_folder()), "PYTHONPATH": ""}

    def run(*arguments, program=("-m", "tritonobs")):
        command = [python, "-W", "error", *program, *arguments]
        return subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=work, env=variables, timeout=120
        )

    helps = run(program=("-c", HELPS))
    built = run("build", "fleet.yaml", "-o", "out")
    lacking = {name: run(*name.split()) for name in ("load --duration 1s", "demo", "up")}

    assert helps.stdout.split() == [f"{name}:0" for name in COMMANDS], helps.stdout + helps.stderr
    assert built.returncode == 0, built.stderr
    assert (work / "out" / "prometheus" / "prometheus.yml").exists()
    assert list((work / "out" / "prometheus" / "rules").glob("*.rules.yml"))
    assert {name: done.returncode for name, done in lacking.items()} == dict.fromkeys(lacking, 3)
    assert all("pip install 'tritonobs[stack]'" in done.stderr for done in lacking.values())


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_an_agent_is_answered_by_the_wheel_alone(wheel, tmp_path, transport):
    """With its own extra and nothing else, outside of the checkout; pages and files come with the wheel."""
    mcp = pytest.importorskip("mcp", reason="the SDK's client is not here; run: make setup")
    python = _environment(tmp_path / "mcp", f"{wheel}[mcp]")
    fleet = tmp_path / "empty" / "fleet.yaml"
    fleet.parent.mkdir()
    fleet.write_bytes((ROOT / "examples" / "fleet.yaml").read_bytes())

    async def asked(where):
        async with mcp.Client(where, read_timeout_seconds=60) as agent:
            tools = {one.name for one in (await agent.list_tools()).tools}
            calls = (("limits", {}), ("runbook", {"name": "TritonQpsAboveLimit"}))
            found = [await agent.call_tool(*call) for call in calls]
            pages = await agent.read_resource("tritonobs://checks")
            return tools, found, pages.contents[0].text

    if transport == "stdio":
        words = ["-m", "tritonobs", "mcp", str(fleet)]
        where = mcp.StdioServerParameters(command=str(python), args=words, cwd=fleet.parent)
        tools, found, pages = asyncio.run(asked(where))
    else:
        with Served(fleet, python=str(python)) as served:
            tools, found, pages = asyncio.run(asked(served.url))

    assert tools == {name for name, one in OFFERED.items() if is_there(one.needs)}
    assert [one.is_error for one in found] == [False, False]
    assert "inspect" in {one["model"] for one in found[0].structured_content["data"]}
    assert "slow_stage" in pages.split("\n")


def test_the_declared_pythons_are_those_that_are_tried(described):
    """Neither more nor fewer."""
    project = described["project"]
    series = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]

    assert (tuple(series), project["requires-python"]) == (PYTHONS, f">={PYTHONS[0]}")


def test_links_of_the_metadata_lead_somewhere_from_a_package_index(wheel):
    """The README's pictures and links are absolute there, and so are the project's addresses."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    links = re.findall(r"\]\(([^)\s]+)", metadata.get_payload())
    addresses = dict(line.split(", ") for line in metadata.get_all("Project-URL"))

    assert [link for link in links if not link.startswith(("https://", "http://127.0.0.1", "#"))] == []
    assert sorted(addresses) == ["Changelog", "Documentation", "Homepage", "Issues", "Source"]
    assert all(address.startswith("https://") for address in addresses.values())
    for link in (*links, *addresses.values()):
        if match := re.fullmatch(
            r"https://[^/]+/tritonobs/tritonobs/(?:blob|raw)/main/([^#]+)(?:#.*)?", link
        ):
            assert (ROOT / match[1]).exists(), link


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.gpu"])
def test_an_image_is_built_from_all_that_the_wheel_holds(described, name):
    """Each `pip install .` finds the folders that pyproject.toml names; .dockerignore lets them through."""
    target = described["tool"]["hatch"]["build"]["targets"]["wheel"]
    metadata = described["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    wanted = {*target["force-include"], target["hooks"]["custom"]["path"], metadata["path"]}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    stages = (ROOT / "docker" / name).read_text(encoding="utf-8").split("\nFROM ")
    installs = [stage for stage in stages if re.search(r"pip install [^\n]*[ .]\.( |$)", stage, re.MULTILINE)]

    assert installs
    for stage in installs:
        copied = [
            word for line in re.findall(r"^COPY (.*) \S+$", stage, re.MULTILINE) for word in line.split()
        ]
        assert [path for path in wanted if not any(path.startswith(source) for source in copied)] == []
    assert [
        path for path in wanted if not any(path.startswith(line[1:]) for line in ignored if line[0] == "!")
    ] == []


def test_the_wheel_carries_the_models(wheel):
    """The model repository is complete: configuration, code and the detector's network."""
    names = zipfile.ZipFile(wheel).namelist()

    for model in ("preprocess", "detector", "nms", "inspect", "inspect_ensemble"):
        assert f"tritonobs/_data/models/{model}/config.pbtxt" in names
    assert "tritonobs/_data/models/detector/1/model.onnx" in names
