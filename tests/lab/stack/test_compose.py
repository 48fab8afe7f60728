"""docker-compose.yml starts what `tritonobs up` starts, and is careful about it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tritonobs.extensions.lab.stack import services
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

ROOT = Path(__file__).parents[3]
# Where the two must differ: containers listen to each other, and have folders of their own.
PLACES = (
    "--model-repository",
    "--backend-directory",
    "--config.file",
    "--storage.path",
    "--storage.tsdb.path",
    # The prefix of names in shared memory, which a container has for itself.
    "--backend-config",
)
PARTS = ("triton", "serve", "alertmanager", "prometheus")


@pytest.fixture(name="compose", scope="module")
def _compose():
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.fixture(name="native", scope="module")
def _native(tmp_path_factory):
    fleet = ROOT / "examples" / "fleet.yaml"
    folders = services.Folders(root=tmp_path_factory.mktemp("state"))
    plan = build_plan(load_fleet(fleet), fleet.parent)
    return {one.name: one for one in services.stack_services(plan, fleet, ROOT / "models", folders)}


def flags(arguments):
    """Flags and values, addresses without their host and places left out."""
    found = dict(_pair(one) for one in arguments if one.startswith("--") and "=" in one)
    kept = {
        name: value for name, value in found.items() if name not in PLACES and not name.endswith("-address")
    }
    ports = {
        name: value.rpartition(":")[2] for name, value in found.items() if name == "--web.listen-address"
    }
    return kept | ports


def _pair(argument):
    """Name and value; --trace-config is given once for each setting, and one of them is an address."""
    name, _, value = argument.partition("=")
    if name != "--trace-config":
        return name, value
    setting, _, value = value.partition("=")
    return f"{name}={setting}", re.sub(r"http://[^:/]*", "", value)


@pytest.mark.parametrize("part", ["triton", "alertmanager", "prometheus"])
def test_a_part_gets_the_same_flags_as_natively(compose, native, part):
    """No flag more, none less, the same values; retention is a knob with the fleet's value as default."""
    command = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", one) for one in compose["services"][part]["command"]]

    assert flags(command) == flags(native[part].argv)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_answers_at_the_same_ports(compose, native, part):
    """Who knows the native stack finds everything where it was."""
    published = {int(one.split(":")[2]) for one in compose["services"][part]["ports"]}

    assert published == set(native[part].ports)


def test_a_part_knows_the_same_variables_as_natively(compose, native):
    """Triton's models learn how long to linger; places and libraries are the image's own."""
    ours = {
        name: value for name, value in native["triton"].env.items() if name.startswith("TRITONOBS_SCRAPE")
    }

    assert ours
    assert compose["services"]["triton"]["environment"] == ours


@pytest.mark.parametrize("part", PARTS)
def test_a_part_reads_what_it_reads_natively_and_writes_only_to_volumes(compose, part):
    """What comes from the checkout is read-only; what is written has a named volume."""
    mounts = compose["services"][part]["volumes"]
    from_here = [one for one in mounts if one.startswith((".", "${"))]

    assert [one for one in from_here if not one.endswith(":ro")] == []
    written = {one.split(":")[0] for one in mounts if not one.endswith(":ro")}
    assert written == {"serve": {"limits"}, "triton": set()}.get(part, {part})
    assert written <= set(compose["volumes"])


def test_links_lead_to_the_published_ports(compose):
    """Unless somebody says otherwise: what the fleet file calls public is where a browser gets answers."""
    addresses = yaml.safe_load((ROOT / "docker" / "fleet" / "fleet.yaml").read_text())["addresses"]
    links = {**addresses["public"], "grafana": addresses["grafana"]}
    for part, link in links.items():
        assert f"{link.removeprefix('http://')}:" in compose["services"][part]["ports"][0], part
    external = {
        part: next(word for word in compose["services"][part]["command"] if "external-url" in word)
        for part in ("prometheus", "alertmanager")
    }
    external["grafana"] = compose["services"]["grafana"]["environment"]["GF_SERVER_ROOT_URL"]
    links.pop("serve")  # knows its own address from the fleet file
    assert {part: re.search(r":-(.*)}$", word)[1] for part, word in external.items()} == links


def test_no_link_names_what_only_containers_know():
    """Every part with an address inside the network has one for browsers."""
    addresses = yaml.safe_load((ROOT / "docker" / "fleet" / "fleet.yaml").read_text())["addresses"]
    inside = {part for part, url in addresses.items() if part != "public" and "127.0.0.1" not in url}

    assert inside == set(addresses["public"])


def test_docker_compose_takes_the_files():
    """Every profile, with and without the override for machines that reach no image registry."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("no docker-compose here; as root on Debian: tools/setup_tests.sh")
    for more in ([], ["-f", "docker/debian.override.yml"]):
        command = [
            program,
            "-f",
            "docker-compose.yml",
            *more,
            "--profile",
            "load",
            "--profile",
            "gpu",
            "config",
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


@pytest.mark.parametrize("part", PARTS)
def test_a_healthcheck_asks_the_page_that_says_ready(compose, native, part):
    """Ready means the same in both."""
    page = "/" + native[part].ready_url.split("/", 3)[3]

    assert any(page in str(word) for word in compose["services"][part]["healthcheck"]["test"])


def test_nothing_is_published_beyond_loopback(compose):
    """Every published port names 127.0.0.1."""
    ports = [port for one in compose["services"].values() for port in one.get("ports", [])]

    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_every_container_has_limits_and_no_privileges(compose):
    """Memory is bounded, capabilities are dropped, file systems read-only but for a GPU's driver."""
    for name, service in compose["services"].items():
        assert service["mem_limit"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"] or name == "triton-gpu", name


def test_images_are_pinned(compose):
    """Nobody's `latest`: foreign images carry a version, ours are built here."""
    for name, service in compose["services"].items():
        assert re.search(r":(v?\d+\.\d+\.\d+|local)$", service["image"]), name


def test_our_images_do_not_run_as_root():
    """The last user of every image is none with power."""
    for file in ("Dockerfile", "Dockerfile.debian", "Dockerfile.gpu"):
        text = (ROOT / "docker" / file).read_text()
        users = re.findall(r"^USER (\S+)$", text, re.MULTILINE)
        assert users, file
        assert not {"root", "0"} & set(users)


def test_the_fleet_of_the_containers_is_the_example(compose):
    """Only addresses and the places of secrets differ."""
    there, here = (
        yaml.safe_load((ROOT / path).read_text())
        for path in ("docker/fleet/fleet.yaml", "examples/fleet.yaml")
    )
    for one in (there, here):
        for key in ("replicas", "addresses", "notify"):
            one.pop(key)

    assert there == here
    assert set(compose["volumes"]) >= {"built", "secrets", "prometheus"}
