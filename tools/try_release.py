"""Try every artifact of a release, from the artifact: in new environments and folders, without the checkout.

    python tools/try_release.py build/release/1.2.3
    python tools/try_release.py build/release/1.2.3 --only sums --only wheel --only sdist

It needs nothing but Python and pip. What cannot be tried on this machine is skipped with the reason; what
--only names must not be.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

FAILED = 1
_START_SECONDS = 60.0

RECORDS = """
from tritonobs.stage import Stages, cells
from tritonobs.testing import FakePbUtils

fake = FakePbUtils()
stages = Stages(dict(FakePbUtils.ARGS), fake)
with stages.request(3), stages.time("decode"):
    pass
page = fake.snapshot()
stages.finalize()
counted = page.total("tritonobs_requests_total", outcome="ok")
timed = page.total("tritonobs_stage_duration_seconds_count", stage="decode")
assert (counted, timed > 0) == (3, True), page
assert (fake.crashes, fake.refusals) == ([], []), (fake.crashes, fake.refusals)
print(cells.record_path())
"""
"""A model's requests in a Triton that is not there; prints which record path took them."""

VALUES = """
import json
import sys
from pathlib import Path

import jsonschema
import yaml

chart, version = Path(sys.argv[1]), sys.argv[2]
about = yaml.safe_load((chart / "Chart.yaml").read_text())
assert (about["version"], about["appVersion"]) == (version, version), about
values = yaml.safe_load((chart / "values.yaml").read_text())
schema = json.loads((chart / "values.schema.json").read_text())
jsonschema.validate(values, schema)
wrong = ({"replicas": "many"}, {"replica": 3}, {"skip": ["Deploymnt"]}, {"alertmanagerConfig": "yes"})
for one in wrong:
    try:
        jsonschema.validate({**values, **one}, schema)
    except jsonschema.ValidationError:
        continue
    sys.exit(f"values.schema.json takes {one}")
objects = (chart / "objects.txt").read_text().split()
assert objects and all((chart / "objects" / name).is_file() for name in objects), objects
print(f"{len(objects)} objects; its schema takes its values and refuses {len(wrong)} wrong ones")
"""

MIXIN = """
import json
import sys
from pathlib import Path

import _gojsonnet

probe = Path(sys.argv[1], "probe.jsonnet")
probe.write_text(
    "local m = import 'tritonobs-mixin/mixin.libsonnet';"
    "{ records: m.prometheusRules, alerts: m.prometheusAlerts, boards: m.grafanaDashboards }"
)
made = json.loads(_gojsonnet.evaluate_file(str(probe)))
counted = [sum(len(group["rules"]) for group in made[name]["groups"]) for name in ("records", "alerts")]
assert min(counted) > 30 and len(made["boards"]) > 5, (counted, list(made["boards"]))
example = Path(sys.argv[1], "tritonobs-mixin", "rules", "example", "monitoring.jsonnet")
example = json.loads(_gojsonnet.evaluate_file(str(example)))
assert {"records.rules.yml", "alerts.rules.yml"} < set(example), list(example)
print(f"{counted[0]} records, {counted[1]} alerts, {len(made['boards'])} boards, and its example")
"""

FLEET = """
fleet: tried
replicas: [{name: a, url: "http://127.0.0.1:8000"}]
models: {inspect: {qps_limit: 8}}
"""


class Skipped(Exception):
    """It cannot be tried here; the text says what is missing, and how to get it."""


class Failed(Exception):
    """An artifact is not as it must be."""


def run(words: list[object], folder: Path, **variables: str) -> str:
    """What a program prints, without anything of a checkout or of this environment.

    Raises:
        Failed: it failed; the text has the end of what it said.
    """
    dropped = ("PYTHONPATH", "PYTHONHOME", "TRITONOBS_PURE_PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in dropped} | variables
    line = [str(word) for word in words]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(
            "\n".join([" ".join(line)[:200], *(done.stdout + done.stderr).strip().splitlines()[-12:]])
        )
    return done.stdout.strip()


class Release:
    """The folder of a release, and a place to try it in."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder, self.place = folder, place

    def one(self, pattern: str) -> Path:
        """The artifact whose name fits the pattern.

        Raises:
            Skipped: there is none.
            Failed: there are several.
        """
        found = sorted(self.folder.glob(pattern))
        if not found:
            raise Skipped(f"the release has no {pattern}")
        if len(found) > 1:
            raise Failed(f"{len(found)} files fit {pattern}: {', '.join(one.name for one in found)}")
        return found[0]

    @functools.cached_property
    def version(self) -> str:
        """The version that the names of the artifacts say."""
        names = [*self.folder.glob("tritonobs-notes-*.md"), *self.folder.glob("tritonobs-*.tar.gz")]
        if not names:
            raise Skipped("the release has neither notes nor archives, which say its version")
        return names[0].name.removesuffix(".tar.gz").removesuffix(".md").rpartition("-")[2]

    def environment(self, name: str, *words: object) -> Path:
        """The Python of a new virtual environment in which pip installed `words`."""
        home = self.place / name
        run([sys.executable, "-m", "venv", "--without-pip", home], self.place)
        python = home / "bin" / "python"
        # Seconds less: this Python's pip installs into it, and compiles nothing that runs once.
        pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet"]
        run([*pip, "install", "--no-compile", *words], self.place)
        return python

    @functools.cached_property
    def command_line(self) -> Path:
        """The Python of an environment with the wheel, its extra for lint, and a validator of JSON Schema."""
        wheel = self.wheel()
        return self.environment("lint", f"tritonobs[lint] @ {wheel.resolve().as_uri()}", "jsonschema")

    def wheel(self) -> Path:
        """The wheel for this machine."""
        return self.one(f"*manylinux*_{platform.machine()}.whl")

    def unpacked(self, archive: Path) -> Path:
        """A folder with what is in the archive."""
        folder = self.place / archive.name.replace(".", "-")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        return folder


def try_sums(release: Release) -> str:
    """Checksums name every file, and agree."""
    lines = release.one("SHA256SUMS").read_text(encoding="utf-8").splitlines()
    said = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in release.folder.iterdir()
        if file.is_file() and not file.name.startswith("SHA256SUMS")
    }
    if wrong := sorted(name for name in said.keys() | found.keys() if said.get(name) != found.get(name)):
        raise Failed(f"do not agree about {', '.join(wrong)}")
    return f"{len(said)} files agree"


def try_wheel(release: Release) -> str:
    """Installs without an index, and records by the compiled path."""
    python = release.environment("wheel", "--no-index", release.wheel())
    path = run([python, "-I", "-c", RECORDS], release.place)
    said = run([python, "-I", "-m", "tritonobs", "--version"], release.place)
    wanted = f"tritonobs, version {release.version}\nrecord path: compiled"
    if (path, said) != ("compiled", wanted):
        raise Failed(f"records by {path}, and says {said!r} instead of {wanted!r}")
    others = [one.name for one in release.folder.glob("*manylinux*.whl") if one != release.wheel()]
    rest = f"; not for this machine, and not tried: {', '.join(others)}" if others else ""
    return f"installed without an index; Stages records; record path: compiled{rest}"


def try_pure(release: Release) -> str:
    """The wheel for every other machine records in Python."""
    python = release.environment("pure", "--no-index", release.one("*-py3-none-any.whl"))
    path = run([python, "-I", "-c", RECORDS], release.place)
    if path == "compiled":
        raise Failed("records by the compiled path, which only a wheel for one platform may bring")
    return "installed without an index; Stages records, in Python"


def try_sdist(release: Release) -> str:
    """Builds and installs."""
    python = release.environment("sdist", release.one("tritonobs-[0-9]*.tar.gz"))
    path = run([python, "-I", "-c", RECORDS], release.place)
    return f"built and installed; Stages records; record path: {path}"


def try_cli(release: Release) -> str:
    """The command line of the wheel builds a fleet, and its daemon answers."""
    python = release.command_line
    (release.place / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    run([python, "-I", "-m", "tritonobs", "build", "fleet.yaml", "-o", "built"], release.place)
    rules = list((release.place / "built" / "prometheus" / "rules").glob("*.rules.yml"))
    if not rules:
        raise Failed("build wrote no rules")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [python, "-I", "-m", "tritonobs", "serve", "fleet.yaml", "--port", str(port)]
    with (release.place / "serve.log").open("w+") as log:
        serve = subprocess.Popen(list(map(str, words)), cwd=release.place, stdout=log, stderr=log)
        try:
            _healthy(port, log.name)
        finally:
            serve.terminate()
            serve.wait()
    return f"build wrote {len(rules)} files of rules; serve answers /healthz"


def try_sbom(release: Release) -> str:
    """The bill of materials names the package and the wheels as they are."""
    bill = json.loads(release.one("tritonobs-*.cdx.json").read_text(encoding="utf-8"))
    package = bill["metadata"]["component"]
    said = {one["url"]: one["hashes"][0]["content"] for one in package["externalReferences"]}
    found = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in release.folder.glob("*.whl")}
    if (bill["bomFormat"], package["version"], said) != ("CycloneDX", release.version, found):
        raise Failed(f"is of {package['version']} and {sorted(said)}, the wheels are {sorted(found)}")
    return f"{len(found)} wheels with their checksums, {len(bill['components'])} optional packages"


def try_chart(release: Release) -> str:
    """Its schema takes its values, and refuses wrong ones."""
    folder = release.unpacked(release.one("tritonobs-chart-*.tgz")) / "tritonobs"
    return run([release.command_line, "-I", "-c", VALUES, folder, release.version], release.place)


def try_helm(release: Release) -> str:
    """Helm lints and renders it, refuses a wrong value, and takes a fleet file with other models."""
    helm = shutil.which("helm")
    if not helm:
        raise Skipped(
            "helm is not on PATH (helm.sh/docs/intro/install, or tools/setup_kubernetes.sh kubectl)"
        )
    chart, place = release.one("tritonobs-chart-*.tgz"), ["--namespace", "monitoring"]
    template = [helm, "template", "t", chart, *place]
    run([helm, "lint", release.unpacked(chart) / "tritonobs", *place], release.place)
    rendered = run(template, release.place)
    fleet = release.one("tritonobs-chart-*.fleet.yaml").read_text(encoding="utf-8")
    files = {
        "models.yaml": fleet.replace("qps_limit: 8", "qps_limit: 9"),
        "elsewhere.yaml": fleet.replace("cluster: east", "cluster: west"),
    }
    for name, text in files.items():
        (release.place / name).write_text(text, encoding="utf-8")
    if "qps_limit: 9" not in run([*template, "--set-file", "fleetFile=models.yaml"], release.place):
        raise Failed("a fleet file with another limit is not in what helm renders")
    for value, word in (
        (("--set", "replicas=many"), "replicas"),
        (("--set", "replica=3"), "replica"),
        (("--set-file", "fleetFile=elsewhere.yaml"), "cluster"),
    ):
        _refused([*template, *value], release.place, word)
    return (
        f"linted; {rendered.count(chr(10) + 'kind: ')} objects; 3 wrong values refused; another limit taken"
    )


def try_mixin(release: Release) -> str:
    """Evaluates from its own folder, without a path or a network."""
    folder = release.unpacked(release.one("tritonobs-mixin-*.tar.gz"))
    return run([release.command_line, "-I", "-c", MIXIN, folder], release.place, JSONNET_PATH="")


def try_boards(release: Release) -> str:
    """They ask for the data source, and every query parses."""
    files = sorted(release.folder.glob("tritonobs-board-*.json"))
    if not files:
        raise Skipped("the release has no tritonobs-board-*.json")
    for file in files:
        board = json.loads(file.read_text(encoding="utf-8"))
        asked = [one["name"] for one in board["__inputs"]]
        chosen = [
            one["current"]["value"] for one in board["templating"]["list"] if one["type"] == "datasource"
        ]
        if asked != ["DS_PROMETHEUS"] or chosen != ["${DS_PROMETHEUS}"] or board["id"] is not None:
            raise Failed(f"{file.name} asks for {asked}, and begins with the data source {chosen}")
    lint = [release.command_line, "-I", "-m", "tritonobs", "lint", "--format", "json"]
    read = json.loads(run([*lint, *files], release.place))
    if read["findings"] or read["expressions"] < len(files):
        raise Failed(f"tritonobs lint says: {read['findings'][:3]}")
    return f"{len(files)} boards; {read['expressions']} queries parse"


def try_notes(release: Release) -> str:
    """They are about this version."""
    text = release.one("tritonobs-notes-*.md").read_text(encoding="utf-8")
    head, _, rest = text.partition("\n\n")
    if head != f"# tritonobs {release.version}" or not rest.strip():
        raise Failed(f"begin with {text[:60]!r}")
    return f"{len(text.splitlines())} lines"


def try_image(release: Release) -> str:
    """Starts without root on a file system that it cannot write, and answers."""
    archive = release.one("tritonobs-image-*.oci.tar")
    docker, skopeo = shutil.which("docker"), shutil.which("skopeo")
    if not docker or not skopeo:
        raise Skipped("docker and skopeo are needed (apt-get install docker.io skopeo)")
    (release.place / "image").mkdir()
    (release.place / "image" / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    name = "tritonobs-tried"
    run([skopeo, "copy", "--quiet", f"oci-archive:{archive}", f"docker-daemon:{name}:tried"], release.place)
    (about,) = json.loads(run([docker, "image", "inspect", f"{name}:tried"], release.place))
    if about["Config"]["User"] in ("", "0", "root"):
        raise Failed("runs as root")
    # Where it may write, and from where it is reached, inside of the container.
    given = ["--tmpfs", "/tmp", "--env", "TRITONOBS_LIMITS_LOG=/tmp/limits.jsonl"]  # noqa: S108 (in the container)
    serve = ["serve", "/fleet/fleet.yaml", "--host", "0.0.0.0", "--without-auth"]  # noqa: S104 (in the container)
    volume = f"{release.place / 'image'}:/fleet:ro"
    words = [docker, "run", "--detach", "--rm", "--read-only", "--publish", "127.0.0.1::9900", *given]
    started = run([*words, "--volume", volume, f"{name}:tried", *serve], release.place)
    try:
        port = run([docker, "port", started, "9900/tcp"], release.place).rpartition(":")[2]
        _healthy(int(port), started)
    finally:
        run([docker, "rm", "--force", started], release.place)
    return f"user {about['Config']['User']}, read-only; serve answers /healthz"


TRIES = {
    "sums": try_sums,
    "wheel": try_wheel,
    "pure": try_pure,
    "sdist": try_sdist,
    "cli": try_cli,
    "sbom": try_sbom,
    "chart": try_chart,
    "helm": try_helm,
    "mixin": try_mixin,
    "boards": try_boards,
    "notes": try_notes,
    "image": try_image,
}


def main(words: list[str] | None = None) -> int:
    """Try them, and print a table. The exit code is 1 if one failed, or one of --only was skipped."""
    about, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="the folder of a release, as tools/release.py made it")
    parser.add_argument("--only", action="append", choices=TRIES, help="try this alone; may be repeated")
    options = parser.parse_args(words)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder; python tools/release.py makes one")
    compiler = "a C compiler" if shutil.which("cc") else "no C compiler"
    print(f"Python {platform.python_version()} on {platform.machine()}, {compiler}: {options.folder}")
    code = 0
    with tempfile.TemporaryDirectory(prefix="tritonobs-tried-") as place:
        release = Release(options.folder.resolve(), Path(place))
        for name in options.only or TRIES:
            word, said = _result(name, release)
            print(f"  {word:<8}{name:<8}{said}", flush=True)
            if word == "FAILED" or (word == "skipped" and options.only):
                code = FAILED
    return code


def _result(name: str, release: Release) -> tuple[str, str]:
    try:
        return "ok", TRIES[name](release)
    except Skipped as why:
        return "skipped", str(why)
    except (Failed, KeyError, ValueError, OSError) as why:
        text = str(why) if isinstance(why, Failed) else repr(why)
        return "FAILED", text.replace("\n", "\n" + " " * 18)


def _refused(words: list[object], folder: Path, word: str) -> None:
    try:
        run(words, folder)
    except Failed as said:
        if word in str(said).partition("\n")[2]:
            return
        raise Failed(f"is refused for another reason than {word}: {said}") from None
    raise Failed(f"is taken, and must not be: {' '.join(map(str, words))}")


def _healthy(port: int, what: str) -> None:
    """Wait until the daemon answers."""
    url, deadline = f"http://127.0.0.1:{port}/healthz", time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
            if answer.status == 200:  # noqa: PLR2004 (HTTP's own)
                return
        time.sleep(0.2)
    log = Path(what)
    said = log.read_text(encoding="utf-8")[-1000:] if log.is_file() else what
    raise Failed(f"{url} did not answer within {_START_SECONDS:.0f} s: {said}")


if __name__ == "__main__":
    sys.exit(main())
