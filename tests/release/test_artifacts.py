"""What a release is made of besides packages and the chart: archives, the mixin, boards."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import _gojsonnet
import pytest

from releasing.archives import SUMS, pack, write_sums
from releasing.boards import board_files, shared
from releasing.mixin import mixin_files
from tritonobs.render.grafana import load_boards
from tritonobs.render.rules import evaluate_mixin

ROOT = Path(__file__).parents[2]


def test_archives_of_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the order, the umask and the name of the archive."""
    files = {"b/c.txt": b"c", "a.txt": b"a"}
    pack(files, tmp_path / "one.tgz", folder="top", moment=1_700_000_000)
    before = os.umask(0o077)
    try:
        pack(dict(reversed(files.items())), tmp_path / "two.tgz", folder="top", moment=1_700_000_000)
    finally:
        os.umask(before)

    assert (tmp_path / "one.tgz").read_bytes() == (tmp_path / "two.tgz").read_bytes()
    with tarfile.open(tmp_path / "one.tgz") as archive:
        members = [(one.name, one.mode, one.uid, one.uname, one.mtime) for one in archive]
        assert archive.extractfile("top/b/c.txt").read() == b"c"
    assert members == [
        ("top/a.txt", 0o644, 0, "", 1_700_000_000),
        ("top/b/c.txt", 0o644, 0, "", 1_700_000_000),
    ]


def test_an_archive_of_another_commit_differs(tmp_path: Path) -> None:
    """Its files have another time, or other bytes."""
    pack({"a": b"a"}, tmp_path / "one", folder="top", moment=1)
    pack({"a": b"a"}, tmp_path / "two", folder="top", moment=2)
    pack({"a": b"b"}, tmp_path / "three", folder="top", moment=1)

    assert len({(tmp_path / name).read_bytes() for name in ("one", "two", "three")}) == 3


def test_checksums_are_those_that_sha256sum_reads(tmp_path: Path) -> None:
    """Of every file but themselves; a changed file does not pass."""
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / "a").write_bytes(b"a")
    write_sums(tmp_path)

    def check() -> int:
        words = ["sha256sum", "--check", "--strict", SUMS]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode

    assert [line.split("  ")[1] for line in (tmp_path / SUMS).read_text().splitlines()] == ["a", "b"]
    assert (tmp_path / SUMS).read_text().startswith(hashlib.sha256(b"a").hexdigest())
    assert check() == 0
    (tmp_path / "b").write_bytes(b"c")
    assert check() != 0


def _wheel(folder: Path, name: str, metadata: str) -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("tritonobs-1.2.3.dist-info/METADATA", metadata)
    return folder / name


def test_a_bill_names_the_wheels_and_what_users_may_install(tmp_path: Path) -> None:
    """Valid CycloneDX, the same for the same wheels; what only makers of a release install is not in it."""
    sbom = pytest.importorskip("releasing.sbom", reason="no cyclonedx here; run: make setup")
    validation = pytest.importorskip("cyclonedx.validation.json", reason="no cyclonedx here; run: make setup")
    schema = pytest.importorskip("cyclonedx.schema", reason="no cyclonedx here; run: make setup")
    metadata = (
        "Metadata-Version: 2.4\nName: tritonobs\nVersion: 1.2.3\nSummary: A.\n"
        "License-Expression: Apache-2.0\n"
        "Requires-Dist: click>=8.1; extra == 'cli'\n"
        "Requires-Dist: tritonobs[cli]; extra == 'lint'\n"
        "Requires-Dist: tomli>=2; (python_version < '3.11') and extra == 'lint'\n"
        "Requires-Dist: pytest>=8.2; extra == 'dev'\n"
        "Requires-Dist: auditwheel==6.8.2; extra == 'release'\n"
    )
    wheels = [_wheel(tmp_path, name, metadata) for name in ("a.whl", "b.whl")]

    text = sbom.bill(wheels, 1_700_000_000)

    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text) is None
    assert text == sbom.bill(wheels, 1_700_000_000)
    bill = json.loads(text)
    package = bill["metadata"]["component"]
    assert (package["name"], package["version"], package["purl"]) == (
        "tritonobs",
        "1.2.3",
        "pkg:pypi/tritonobs@1.2.3",
    )
    assert {one["url"]: one["hashes"][0]["content"] for one in package["externalReferences"]} == {
        wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels
    }
    assert [(one["name"], one["scope"]) for one in bill["components"]] == [
        ("click", "optional"),
        ("tomli", "optional"),
    ]
    assert bill["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")


def test_the_mixin_evaluates_from_its_own_folder(tmp_path: Path) -> None:
    """To the rules and boards of this checkout, by its entry and by its example."""
    for name, content in mixin_files(ROOT, "1.2.3").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    probe = tmp_path / "probe.jsonnet"
    probe.write_text(
        "local m = import 'mixin.libsonnet'; [m.prometheusRules, m.prometheusAlerts, m.grafanaDashboards]"
    )

    records, alerts, boards = json.loads(_gojsonnet.evaluate_file(str(probe)))

    def named(groups, key):
        return [rule[key] for group in groups for rule in group["rules"] if key in rule]

    made = evaluate_mixin({})
    assert named(records["groups"], "record") == named(made["records"]["groups"], "record")
    assert named(alerts["groups"], "alert") == named(made["alerts"]["groups"], "alert")
    assert sorted(board["uid"] for board in boards.values()) == sorted(
        board["uid"] for board in load_boards().values()
    )
    assert json.loads(_gojsonnet.evaluate_file(str(tmp_path / "rules/example/monitoring.jsonnet")))


def test_nothing_of_the_mixin_leads_out_of_its_folder() -> None:
    """No import of a file that is not there, and no relative link in its page."""
    files = mixin_files(ROOT, "1.2.3")
    page = files["README.md"].decode()

    assert "/blob/v1.2.3/docs/fleet-file.md#rules" in page
    assert "](../" not in page
    assert {"LICENSE", "mixin.libsonnet", "rules/mixin.libsonnet"} < set(files)
    assert len([name for name in files if name.startswith("dashboards/generated/")]) == len(load_boards())


def test_boards_ask_for_the_data_source() -> None:
    """As Grafana's import reads it: one input, which the variable of the board begins with."""
    for name, text in board_files().items():
        board = json.loads(text)
        (asked,) = board["__inputs"]
        (source,) = (one for one in board["templating"]["list"] if one["type"] == "datasource")

        assert (asked["name"], asked["type"], asked["pluginId"]) == (
            "DS_PROMETHEUS",
            "datasource",
            "prometheus",
        )
        assert source["current"]["value"] == "${DS_PROMETHEUS}"
        assert text.count("${DS_PROMETHEUS}") == 2
        assert (board["id"], board["uid"]) == (None, f"tritonobs-{name}")


def test_boards_name_every_panel_that_they_need() -> None:
    """Grafana says before an import what it lacks; rows are Grafana itself."""
    for text in board_files().values():
        board = json.loads(text)
        needed = {one["id"]: one["name"] for one in board["__requires"] if one["type"] == "panel"}

        assert set(needed) == {panel["type"] for panel in board["panels"]} - {"row"}
        assert {one["type"] for one in board["__requires"]} == {"grafana", "datasource", "panel"}
        assert all(needed.values())


def test_a_shared_board_is_the_board_otherwise() -> None:
    """Panels, queries and links are the same, and every one reads the variable."""
    for board in load_boards().values():
        made = shared(board)

        assert (made["panels"], made["links"], made["annotations"]) == (
            board["panels"],
            board["links"],
            board["annotations"],
        )
        read = {
            target["datasource"]["uid"]
            for panel in made["panels"]
            if panel["type"] != "row"
            for target in panel["targets"]
        }
        assert read == {"${datasource}"}


def test_a_kind_of_panel_that_is_not_known_is_an_error() -> None:
    """Instead of a board that asks for nothing and shows nothing."""
    board = next(iter(load_boards().values()))
    panels = [{**board["panels"][1], "type": "piechart"}]

    with pytest.raises(KeyError, match="piechart"):
        shared({**board, "panels": panels})
