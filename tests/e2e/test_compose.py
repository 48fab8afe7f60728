"""docker-compose.yml, run: from images to the message at the robot, and everything taken down again.

Needs root, `dockerd`, `docker-compose` and `debootstrap` (`tools/setup_tests.sh` brings them on Debian);
is skipped, with the reason, where one of them is missing or the kernel lets no engine run. Prometheus and
Alertmanager come from Debian's packages, because no image registry need be in reach; Grafana takes part where
its image can be had.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import pytest
import requests
import yaml

from tritonobs import __version__
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.picture.answers import read_drawing
from tritonobs.extensions.picture.board import knobs_of
from tritonobs.limits.change import Change, set_limit
from tritonobs.render.grafana import load_boards

pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.timeout(1500)]
ROOT = Path(__file__).parents[2]
BASE = "tritonobs-base:test"
PARTS = ("prepare", "triton", "serve", "robot", "alertmanager", "prometheus")
GRAFANA = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["grafana"]["image"]
BOARDS = len(list((ROOT / "dashboards").glob("*.dashboard.py")))
FLEET = "/etc/tritonobs/fleet.yaml"
MESSAGES = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9911/messages').read().decode())"


@pytest.fixture(name="engine", scope="module")
def _engine(fleet_folder):
    """A Docker engine of the test's own, or the reason why there is none."""
    programs = {name: shutil.which(name) for name in ("dockerd", "docker", "docker-compose", "debootstrap")}
    missing = [name for name, path in programs.items() if path is None]
    if missing or os.geteuid() != 0:
        lack = f"missing: {', '.join(missing)}" if missing else "this is not root"
        pytest.skip(f"no Docker engine can be started here ({lack}); as root: tools/setup_tests.sh")
    # Gigabytes that nobody wants to keep, as pytest keeps its folders.
    folder = Path(tempfile.mkdtemp(prefix="tritonobs-docker-"))
    socket = f"unix://{folder}/docker.sock"
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [programs["dockerd"], "--data-root", folder / "data", "--exec-root", folder / "exec",
         "--pidfile", folder / "pid", "--host", socket],
        stdout=log, stderr=log,
    )  # fmt: skip
    env = {
        **os.environ,
        "DOCKER_HOST": socket,
        "DOCKER_BUILDKIT": "0",
        "TRITONOBS_BASE": BASE,
        "TRITONOBS_FLEET": str(fleet_folder),
    }
    try:
        for _ in range(60):
            if process.poll() is not None:
                pytest.skip(f"dockerd does not run here, it says: {(folder / 'log').read_text()[-300:]}")
            if run(env, "docker", "info", check=False).returncode == 0:
                break
            time.sleep(0.5)
        else:
            pytest.skip(f"dockerd does not answer, it says: {(folder / 'log').read_text()[-300:]}")
        yield env
    finally:
        process.terminate()
        process.wait()
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(name="fleet_folder", scope="module")
def _fleet_folder(tmp_path_factory):
    """A copy of the fleet that a test may change, readable by the user of the containers."""
    folder = tmp_path_factory.mktemp("fleet")
    shutil.copy(ROOT / "docker" / "fleet" / "fleet.yaml", folder)
    folder.chmod(0o755)
    return folder


@pytest.fixture(name="base", scope="module")
def _base(engine, tmp_path_factory):
    """Debian 12 as an image, with this machine's certificates, which package registries may need."""
    tree = tmp_path_factory.mktemp("base") / "tree"
    made = run(
        engine, "debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", tree, check=False
    )
    if made.returncode:
        pytest.skip(f"debootstrap makes no base image here: {made.stdout[-300:]}{made.stderr[-300:]}")
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    shutil.copy(bundle, tree / bundle.relative_to("/"))
    (tree / "etc" / "pip.conf").write_text(f"[global]\ncert = {bundle}\n")
    packed = tree.with_name("base.tar")
    run(engine, "tar", "-C", tree, "-cf", packed, ".")
    run(engine, "docker", "import", packed, BASE)
    packed.unlink()
    shutil.rmtree(tree)
    tried = run(engine, "docker", "run", "--rm", BASE, "apt-get", "update", "-q", check=False)
    if tried.returncode or "Failed to fetch" in tried.stderr:
        pytest.skip(f"a container does not run here, or reaches no packages: {tried.stderr[-300:]}")
    return engine


@pytest.fixture(name="grafana", scope="module")
def _grafana(engine):
    """Whether Grafana's image is here; else Docker's own words."""
    try:
        pulled = run(engine, "docker", "pull", "--quiet", GRAFANA, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return "docker pull took more than two minutes"
    return "" if pulled.returncode == 0 else pulled.stderr.strip()


@pytest.fixture(name="composed", scope="module")
def _composed(base, grafana):
    """The stack in containers, healthy."""
    parts = PARTS if grafana else (*PARTS, "grafana")
    compose(base, "up", "--build", "--detach", *parts)
    try:
        wait(lambda: healthy(base, parts), "every part to be healthy", 180)
        yield base
    finally:
        compose(base, "--profile", "load", "down", "--volumes", "--timeout", "5")


def run(env, *words, check=True, timeout=None):
    """A program, quietly; what it said is in the failure."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert not check or done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done


def compose(env, *words):
    """docker-compose with the override for machines without an image registry."""
    files = ("-f", "docker-compose.yml", "-f", "docker/debian.override.yml")
    return run(env, "docker-compose", "-p", "tritonobs-test", *files, *words)


def healthy(env, parts):
    """Whether every part with a healthcheck passes it, and the robot runs."""
    names = run(env, "docker", "ps", "--format", "{{.Names}} {{.Status}}").stdout.splitlines()
    checked = [line for line in names if not line.startswith("tritonobs-test_robot")]
    return len(names) == len(parts) - 1 and all("(healthy)" in line for line in checked)


def wait(look, what, seconds):
    """Until `look` is true."""
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(2)


def messages(env):
    """What the robot accepted."""
    return json.loads(compose(env, "exec", "-T", "serve", "python3", "-c", MESSAGES).stdout)


def test_the_image_says_its_version(base):
    """By its tag, by the labels that registries show, and inside; it runs as nobody in particular."""
    run(base, "make", "image", "IMAGE=registry.example.org/tritonobs", f"BASE={BASE}")

    image = f"registry.example.org/tritonobs:{__version__}"
    (about,) = json.loads(run(base, "docker", "image", "inspect", image).stdout)
    labels = about["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert re.fullmatch("[0-9a-f]{40}", labels["org.opencontainers.image.revision"])
    assert about["Config"]["User"] == "10001"
    inside = run(base, "docker", "run", "--rm", "--read-only", image, "--version").stdout
    # The daemon's image times no stages and brings no compiler.
    assert inside.splitlines()[0] == f"tritonobs, version {__version__}"


def test_an_image_of_another_version_does_not_build(base):
    """Its label would be a lie."""
    words = ("--target", "tritonobs", "--build-arg", f"BASE={BASE}", "--build-arg", "VERSION=9.9.9", ".")
    done = run(base, "docker", "build", "-f", "docker/Dockerfile", *words, check=False)

    assert done.returncode != 0
    assert f"VERSION=9.9.9, and inside is tritonobs, version {__version__}" in done.stdout + done.stderr


def test_an_overflow_reaches_the_robot_through_containers(composed):
    """Twice the limit of 8 requests a second: the message about it arrives."""
    load = ("--profile", "load", "run", "--detach", "load", "--qps", "16", "--duration", "120s")
    compose(composed, *load)

    wait(lambda: any("TritonQpsAboveLimit" in one["text"] for one in messages(composed)), "the message", 90)


def test_links_in_messages_lead_where_a_browser_here_can_go(composed):
    """To the ports published on this machine, never to a name that only containers know."""
    wait(lambda: messages(composed), "a message", 60)
    links = re.findall(r"\]\((https?://[^/)]+)", "".join(one["text"] for one in messages(composed)))

    assert {"http://127.0.0.1:3000", "http://127.0.0.1:9093"} <= set(links)
    assert [
        link for link in links if re.search(r"//(grafana|prometheus|alertmanager|serve|triton)\b", link)
    ] == []


def test_the_log_of_limits_is_kept_beside_a_fleet_file_nobody_may_write(composed):
    """Serve noted the limits that the fleet file has, in a volume, and the log is whole."""
    history = compose(composed, "exec", "-T", "serve", "tritonobs", "limits", "history", FLEET).stdout
    verify = ("exec", "-T", "serve", "tritonobs", "limits", "verify", FLEET)

    assert "models.inspect.qps_limit: nothing → 8" in history
    assert compose(composed, *verify).returncode == 0


def test_a_board_has_data_from_the_containers(composed):
    """The fleet board, asked of the published Prometheus: traffic and latency."""
    del composed
    client = PrometheusClient("http://127.0.0.1:9090")
    now = time.time()
    board = load_boards(knobs_of(client, start=now - 120, end=now))["fleet"]
    story = read_drawing(client, board, {}, start=now - 120, end=now)

    assert not {"Requests per second and their limit", "Latency P99", "Replicas up"} & set(story.silent)


def test_nobody_is_root_and_root_file_systems_are_closed(composed):
    """In the running containers, not only in the file."""
    for part in ("triton", "serve", "prometheus", "alertmanager"):
        user = compose(composed, "exec", "-T", part, "id", "-u").stdout.strip()
        mounts = compose(composed, "exec", "-T", part, "cat", "/proc/mounts").stdout.splitlines()
        (root,) = [line.split() for line in mounts if line.split()[1] == "/"]
        assert user != "0", part
        assert "ro" in root[3].split(","), part


def test_the_grafana_volume_holds_what_was_built(composed):
    """Data sources and every board, where Grafana's image looks for its provisioning."""
    volume = "tritonobs-test_provisioning:/p"
    listing = run(composed, "docker", "run", "--rm", "-v", volume, BASE, "find", "/p", "-type", "f")
    found = listing.stdout.split()

    assert len([path for path in found if path.endswith(".json")]) == BOARDS
    assert "/p/datasources/tritonobs.yaml" in found
    assert requests.get("http://127.0.0.1:9090/-/ready", timeout=5).ok


def test_a_limit_set_on_this_machine_is_in_force_in_the_container(composed, fleet_folder):
    """Serve follows the mounted folder, where `limits set` puts a new file in the old one's place."""
    del composed
    wanted = Change(per_second=Decimal(9), model="inspect")
    set_limit(fleet_folder / "fleet.yaml", wanted, who="test", reason="to see it arrive")
    line = 'tritonobs_qps_limit{model="inspect",version="1"} 9.0'

    wait(lambda: line in requests.get("http://127.0.0.1:9900/metrics", timeout=5).text, "the limit", 30)


def test_up_again_brings_a_changed_fleet_file_in_force(composed, fleet_folder):
    """Prometheus runs what the file says now, without a restart."""
    path = fleet_folder / "fleet.yaml"
    path.write_text(path.read_text().replace("evaluation_interval: 5s", "evaluation_interval: 7s"))
    compose(composed, "up", "--detach", "prepare")
    address = "http://127.0.0.1:9090/api/v1/status/config"

    wait(
        lambda: "evaluation_interval: 7s" in requests.get(address, timeout=5).text,
        "the new configuration",
        60,
    )


def test_grafana_has_every_board_without_a_password(composed, grafana):
    """As a visitor: every board in one folder, and the page that opens is the fleet's."""
    del composed
    if grafana:
        pytest.skip(f"{GRAFANA} cannot be had here: {grafana}")
    address = "http://127.0.0.1:3000"
    found = requests.get(f"{address}/api/search", params={"type": "dash-db"}, timeout=10).json()
    home = requests.get(f"{address}/api/dashboards/home", timeout=10).json()

    assert len(found) == BOARDS
    assert {one["folderTitle"] for one in found} == {"Triton"}
    settings = requests.get(f"{address}/api/admin/settings", auth=("admin", "admin"), timeout=10)
    assert home["dashboard"]["title"] == "Triton / Fleet"
    assert settings.status_code in {401, 403}
