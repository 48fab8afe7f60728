"""Artifacts that are not as they must be fail when they are tried, and what is missing is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

import try_release
from releasing.archives import write_sums

ROOT = Path(__file__).parents[2]
NOTES = "# tritonobs 1.2.3\n\n- A thing.\n"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Notes and checksums of a release, and nothing else."""
    folder = tmp_path / "1.2.3"
    folder.mkdir()
    (folder / "tritonobs-notes-1.2.3.md").write_text(NOTES)
    write_sums(folder)
    return folder


def _tried(capsys, *words: str) -> tuple[int, dict[str, tuple[str, str]]]:
    code = try_release.main(list(words))
    rows = re.findall(r"^  (ok|skipped|FAILED) +(\w+) +(.*)$", capsys.readouterr().out, re.MULTILINE)
    return code, {name: (word, said) for word, name, said in rows}


def test_what_agrees_passes(folder: Path, capsys) -> None:
    """And every try has a line, with the reason where there is nothing to try."""
    code, rows = _tried(capsys, str(folder))

    assert code == 0
    assert list(rows) == list(try_release.TRIES)
    assert rows["sums"] == ("ok", "1 files agree")
    assert rows["notes"] == ("ok", "3 lines")
    assert rows["boards"] == ("skipped", "the release has no tritonobs-board-*.json")
    assert {word for name, (word, _) in rows.items() if name not in ("sums", "notes")} == {"skipped"}


def test_what_is_asked_for_must_not_be_skipped(folder: Path, capsys) -> None:
    """A workflow that tries a wheel which is not there would be green."""
    assert _tried(capsys, str(folder), "--only", "sums")[0] == 0
    code, rows = _tried(capsys, str(folder), "--only", "sums", "--only", "pure")

    assert code == 1
    assert rows["pure"] == ("skipped", "the release has no *-py3-none-any.whl")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda folder: (folder / "tritonobs-notes-1.2.3.md").write_text(NOTES + "x"),
            "tritonobs-notes-1.2.3.md",
        ),
        (lambda folder: (folder / "more").write_text("more"), "more"),
        (lambda folder: (folder / "tritonobs-notes-1.2.3.md").unlink(), "tritonobs-notes-1.2.3.md"),
    ],
    ids=["changed", "added", "removed"],
)
def test_a_file_that_is_not_as_its_checksum_says_fails(folder: Path, capsys, change, said: str) -> None:
    """By its name."""
    change(folder)

    code, rows = _tried(capsys, str(folder), "--only", "sums")

    assert (code, rows["sums"]) == (1, ("FAILED", f"do not agree about {said}"))


@pytest.mark.parametrize("text", ["# tritonobs 1.2.2\n\n- A thing.\n", "# tritonobs 1.2.3\n\n", ""])
def test_notes_of_another_version_or_of_none_fail(folder: Path, capsys, text: str) -> None:
    """They would be what people read first."""
    (folder / "tritonobs-notes-1.2.3.md").write_text(text)

    assert _tried(capsys, str(folder), "--only", "notes")[1]["notes"][0] == "FAILED"


def test_a_board_without_an_input_fails(folder: Path, capsys) -> None:
    """Grafana would not ask for the data source."""
    board = {"__inputs": [], "id": None, "templating": {"list": []}}
    (folder / "tritonobs-board-fleet-1.2.3.json").write_text(json.dumps(board))

    word, said = _tried(capsys, str(folder), "--only", "boards")[1]["boards"]

    assert word == "FAILED"
    assert said.startswith("tritonobs-board-fleet-1.2.3.json asks for []")


def test_a_bill_of_other_wheels_fails(folder: Path, capsys) -> None:
    """One that was made before the wheels were built again."""
    bill = {
        "bomFormat": "CycloneDX",
        "components": [],
        "metadata": {
            "component": {
                "version": "1.2.3",
                "externalReferences": [
                    {"url": "tritonobs-1.2.3-py3-none-any.whl", "hashes": [{"content": "00"}]}
                ],
            }
        },
    }
    (folder / "tritonobs-1.2.3.cdx.json").write_text(json.dumps(bill))
    (folder / "tritonobs-1.2.3-py3-none-any.whl").write_bytes(b"wheel")

    assert _tried(capsys, str(folder), "--only", "sbom")[1]["sbom"][0] == "FAILED"


def test_a_folder_that_is_not_there_is_one_message(tmp_path: Path, capsys) -> None:
    """With what makes one."""
    with pytest.raises(SystemExit) as ended:
        try_release.main([str(tmp_path / "nothing")])

    assert ended.value.code == 2
    assert "is not a folder; python tools/release.py makes one" in capsys.readouterr().err


def test_the_workflow_tries_everything_before_it_publishes() -> None:
    """Each try is named in a job that publishing waits for."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    tried = {
        name
        for job in jobs["publish"]["needs"]
        for step in jobs[job]["steps"]
        for name in re.findall(r"--only (\w+)", step.get("run", ""))
    }

    assert tried == set(try_release.TRIES)
