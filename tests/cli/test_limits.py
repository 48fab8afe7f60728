"""`limits` as a user meets it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tritonobs.limits.change import Change, set_limit
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

SET = ("limits", "set", "fleet.yaml")


def test_set_changes_one_line_and_tells_the_log(run: Run, fleet_file: Path) -> None:
    """The file's other bytes stay, the log says who, from what to what and why, and verify is content."""
    before = fleet_file.read_text()

    done = run(*SET, "12.5", "--model", "inspect", "--reason", "new GPU", "--who", "alice")

    assert (done.returncode, done.stdout, done.stderr) == (0, "models.inspect.qps_limit: 8 → 12.5\n", "")
    assert fleet_file.read_text() == before.replace("qps_limit: 8", "qps_limit: 12.5")
    assert [line.split("  ")[1:] for line in run("limits", "history", "fleet.yaml").stdout.splitlines()] == [
        ["unknown, file of " + fleet_file.owner(), "models.inspect.qps_limit: nothing → 8", _FOUND],
        [
            "unknown, file of " + fleet_file.owner(),
            "models.detector.versions.1.qps_limit: nothing → 40",
            _FOUND,
        ],
        ["alice", "models.inspect.qps_limit: 8 → 12.5", "(command: new GPU)"],
    ]
    verified = run("limits", "verify", "fleet.yaml")
    assert verified.returncode == 0
    assert len(verified.stdout.strip()) == 64


_FOUND = "(file: found in the fleet file)"

REFUSED = [
    pytest.param(
        ["0", "--model", "inspect"],
        2,
        'found "0"; allowed is a number from 0.001 to 1000000 (requests per second), or unlimited',
        id="zero",
    ),
    pytest.param(["--model", "inspect", "--", "-5"], 2, 'found "-5"; allowed is', id="a negative number"),
    pytest.param(["12,5", "--model", "inspect"], 2, 'found "12,5"; allowed is', id="a comma"),
    pytest.param(
        ["5", "--model", "inspct"],
        2,
        '"inspct" is not a model; there are inspect, preprocess and detector (did you mean inspect?)',
        id="an unknown model",
    ),
    pytest.param(
        ["5", "--model", "detector", "--version", "3"],
        2,
        '"3" is not a version of detector; there are 1',
        id="an unknown version",
    ),
    pytest.param(["5", "--version", "3"], 2, "--version needs --model", id="a version of no model"),
    pytest.param(
        ["0", "--model", "inspect", "--tokens", "in"],
        2,
        'found "0"; allowed is a number from 0.001 to 1000000000 (tokens per second), or unlimited',
        id="no tokens at all",
    ),
    pytest.param(
        ["5", "--tokens", "in"],
        2,
        "--tokens needs --model or --default, and excludes --from and --until",
        id="tokens of the whole fleet",
    ),
    pytest.param(
        ["5", "--model", "inspect", "--from", "tomorrow"],
        2,
        'found "tomorrow"; allowed is a moment with its time zone',
        id="a time in words",
    ),
    pytest.param(
        ["5", "--model", "inspect", "--from", "2026-11-12T00:00Z", "--until", "2026-11-11T00:00Z"],
        1,
        "valid_from is not before valid_until",
        id="a time that ends before it begins",
    ),
    pytest.param(
        ["5", "--model", "inspect", "--until", "2020-11-11T00:00Z"],
        2,
        "the limit would end at 2020-11-11T00:00:00+00:00; it is ",
        id="a time that is over",
    ),
]


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED)
def test_nonsense_is_refused_and_nothing_is_touched(
    run: Run, fleet_file: Path, arguments: list[str], code: int, said: str
) -> None:
    """The sentence of the fleet file, no traceback, the file and the log as they were."""
    before = fleet_file.read_bytes()

    done = run(*SET, "--reason", "x", *arguments)

    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert fleet_file.read_bytes() == before
    history = run("limits", "history", "fleet.yaml", "--format", "json")
    assert [entry for entry in json.loads(history.stdout) if entry["source"] == "command"] == []


def test_scheduled_limits_are_added_and_listed(run: Run, fleet_file: Path) -> None:
    """A limit for a sale holds while it lasts, and its members follow."""
    done = run(
        *SET,
        *("30", "--model", "inspect", "--reason", "sale"),
        *("--from", "2030-11-11T00:00+08:00", "--until", "2030-11-12T00:00+08:00"),
    )
    assert done.returncode == 0, done.stderr

    def listed(*options: str) -> dict[tuple[str, str], str]:
        rows = json.loads(run("limits", "list", "fleet.yaml", "--format", "json", *options).stdout)
        return {(row["model"], row["version"]): row["qps"] for row in rows}

    usual = {("inspect", ""): "8", ("preprocess", ""): "8", ("detector", "1"): "40"}
    assert listed() == usual
    assert listed("--at", "2030-11-11T12:00+08:00") == {
        **usual,
        ("inspect", ""): "30",
        ("preprocess", ""): "30",
    }
    assert "valid_until" in fleet_file.read_text()


def test_a_temporary_limit_begins_now_and_says_why(run: Run, fleet_file: Path) -> None:
    """With an end only it is in force at once, and what was in force before stays as it was."""
    before = datetime.now(timezone.utc).replace(microsecond=0)
    why = 'sale: "50 %", 双十一 #1 \\ it\'s {new}'
    done = run(*SET, "6", "--model", "inspect", "--until", "2126-12-01T18:00Z", "--reason", why)
    assert done.returncode == 0, done.stderr

    def listed(*options: str) -> dict[str, str]:
        rows = json.loads(run("limits", "list", "fleet.yaml", "--format", "json", *options).stdout)
        return next(row for row in rows if row["model"] == "inspect")

    now = listed()
    assert (now["qps"], now["valid_until"], now["reason"]) == ("6", "2126-12-01T18:00:00+00:00", why)
    assert before <= datetime.fromisoformat(now["valid_from"]) <= datetime.now(timezone.utc)
    assert now["valid_from"].endswith(":{:02}+00:00".format(datetime.fromisoformat(now["valid_from"]).second))
    earlier = (before - timedelta(seconds=1)).isoformat()
    assert (listed("--at", earlier)["qps"], listed("--at", earlier)["reason"]) == ("8", "")
    assert run("limits", "verify", "fleet.yaml").returncode == 0


@pytest.mark.parametrize(
    "written", ["sale", "a\nb\tc", "\u2028x\x7f\x85", "\U0001f600", "no", "~", "x" * 5000, "\udcff"]
)
def test_any_reason_can_be_written(tmp_path: Path, written: str) -> None:
    """The entry is one line, in block and in flow style, with either ending of lines, and says the same."""
    said = written.encode(errors="replace").decode()
    change = Change(per_second=Decimal(6), model="m", valid_until=datetime(2126, 12, 1, tzinfo=timezone.utc))
    flow = '{"fleet": "f", "replicas": [{"name": "a", "url": "http://b"}], "models": {"m": {"qps_limit": 8}}}'
    block = (
        'fleet: f\nreplicas: [{name: a, url: "http://10.0.0.1"}]\nmodels:\n  m:\n    qps_limit: 8  # why\n'
    )
    for number, text in enumerate((flow, block, block.replace("\n", "\r\n"))):
        path = tmp_path / f"{number}.yaml"
        path.write_bytes(text.encode())

        set_limit(path, change, who="alice", reason=written)

        (entry,) = load_fleet(path).models["m"].scheduled_limits
        assert (entry.reason, entry.valid_from.microsecond) == (said, 0)
        ending = "\r\n" if "\r" in text else "\n"
        added = path.read_bytes().decode().count(ending) - text.count(ending)
        assert added == (0 if text == flow else 1)


def test_a_limit_for_a_time_that_hides_the_new_one_is_shown(run: Run, fleet_file: Path) -> None:
    """The change is for later: who sets it must know what is in force now, and how to end it."""
    set_inspect = ("limits", "set", fleet_file.name, "--model", "inspect", "--reason", "x")
    run(*set_inspect, "6", "--until", "2126-12-01T18:00Z")

    for number in ("7", "7"):
        done = run(*set_inspect, number)

        assert done.returncode == 0
        assert done.stderr.splitlines()[-1] == (
            "6 is in force until 2126-12-01T18:00:00+00:00, by models.inspect.scheduled_limits[0]; "
            "to end it earlier, remove that entry from fleet.yaml"
        )
    assert "in force" not in run("limits", "set", fleet_file.name, "9", "--reason", "x").stderr


def test_a_limit_the_members_do_not_allow_is_set_with_a_warning(run: Run, fleet_file: Path) -> None:
    """What is in force is said at once."""
    assert fleet_file.exists()
    done = run(*SET, "50", "--model", "inspect", "--reason", "x")

    assert done.returncode == 0
    assert (
        "50 is more than the pipeline's members allow: capped by detector (40 / 1) (40 is in force)"
        in done.stderr
    )


def test_the_default_and_the_fleet_have_limits_too(run: Run, fleet_file: Path) -> None:
    """Without a model it is the fleet's total, with --default what models inherit."""
    total = run(*SET, "100", "--reason", "x")
    default = run(*SET, "5", "--default", "--reason", "x")

    assert total.stdout == "qps_limit: nothing → 100\n"
    assert default.stdout == "defaults.qps_limit: nothing → 5\n"
    assert run("validate", "fleet.yaml").returncode == 0


def test_tokens_have_limits_too(run: Run, fleet_file: Path) -> None:
    """Set where there was none and again where there is one; listed, in the log, and verified."""
    tokens = ("--tokens", "out", "--reason", "x")
    inherited = run(*SET, "4000", "--default", *tokens)
    first = run(*SET, "900", "--model", "detector", *tokens)
    again = run(*SET, "unlimited", "--model", "inspect", *tokens)

    field = "tokens_per_second_limit.tokens_out"
    assert inherited.stdout == f"defaults.{field}: nothing → 4000\n"
    assert first.stdout == f"models.detector.{field}: nothing → 900\n"
    assert again.stdout == f"models.inspect.{field}: nothing → unlimited\n"
    rows = json.loads(run("limits", "list", "fleet.yaml", "--format", "json").stdout)
    assert {(row["model"], row["version"], row["tokens_out"]) for row in rows if "tokens_out" in row} == {
        ("preprocess", "", "4000"),
        ("detector", "", "900"),
        ("detector", "1", "900"),
    }
    table = [line.split() for line in run("limits", "list", "fleet.yaml").stdout.splitlines()]
    assert ["detector", "1", "out", "900", "models.detector"] in table
    assert run("limits", "verify", "fleet.yaml").returncode == 0
    fleet_file.write_text(fleet_file.read_text().replace("900", "901"))
    assert f"models.detector.{field}: the log ends with 900" in run("limits", "verify", "fleet.yaml").stdout


def test_a_wrong_file_is_not_edited(run: Run, fleet_file: Path) -> None:
    """What is wrong already is told instead."""
    fleet_file.write_text(fleet_file.read_text().replace("99.9%", "99.9"))

    done = run(*SET, "5", "--model", "inspect", "--reason", "x")

    assert done.returncode == 1
    assert "defaults.slos.availability.objective" in done.stderr


@pytest.mark.parametrize(
    "command", [(*SET, "9", "--model", "inspect", "--reason", "x"), ("limits", "history", "fleet.yaml")]
)
def test_a_log_that_cannot_be_used_is_named(run: Run, fleet_file: Path, command: tuple[str, ...]) -> None:
    """Nothing is wrong with the fleet file: 3, and the file is as it was."""
    (fleet_file.parent / "fleet.limits.jsonl").mkdir()
    before = fleet_file.read_bytes()

    done = run(*command)

    assert done.returncode == 3
    assert "fleet.limits.jsonl: the log of limits " in done.stderr
    assert fleet_file.read_bytes() == before


def test_mode_links_marks_and_line_endings_survive(run: Run, fleet_file: Path) -> None:
    """A symbolic link stays one; the file behind it keeps mode, byte order mark and line endings."""
    real = fleet_file.parent / "real.yaml"
    fleet_file.rename(real)
    fleet_file.symlink_to("real.yaml")
    before = b"\xef\xbb\xbf" + real.read_bytes().replace(b"\n", b"\r\n")
    real.write_bytes(before)
    real.chmod(0o640)

    done = run(*SET, "9", "--model", "inspect", "--reason", "x")

    assert done.returncode == 0, done.stderr
    assert fleet_file.is_symlink()
    assert real.read_bytes() == before.replace(b"qps_limit: 8", b"qps_limit: 9")
    assert real.stat().st_mode & 0o777 == 0o640


def test_verify_tells_a_change_nobody_wrote_down(run: Run, fleet_file: Path) -> None:
    """An edit by hand while nothing watched, and a log cut at its end, look the same: the two differ."""
    run(*SET, "9", "--model", "inspect", "--reason", "x")
    fleet_file.write_text(fleet_file.read_text().replace("qps_limit: 9", "qps_limit: 90"))

    done = run("limits", "verify", "fleet.yaml")

    assert done.returncode == 1
    assert done.stdout.endswith(
        "fleet.limits.jsonl: models.inspect.qps_limit: the log ends with 9, the fleet file says 90 "
        "(changed without the log, or the log was cut)\n"
    )


def test_verify_knows_a_hash_noted_earlier(run: Run, fleet_file: Path) -> None:
    """A log written anew is sound in itself; only a hash from outside shows it."""
    run(*SET, "9", "--model", "inspect", "--reason", "x")
    noted = run("limits", "verify", "fleet.yaml").stdout.strip()
    run(*SET, "10", "--model", "inspect", "--reason", "x")
    assert run("limits", "verify", "fleet.yaml", "--expect", noted).returncode == 0

    (fleet_file.parent / "fleet.limits.jsonl").unlink()
    run(*SET, "9", "--model", "inspect", "--reason", "x")

    done = run("limits", "verify", "fleet.yaml", "--expect", noted)
    assert done.returncode == 1
    assert f"no entry has the hash {noted}: the log was cut or rewritten" in done.stdout


def test_list_is_a_table_for_people(run: Run, fleet_file: Path) -> None:
    """Model, version, limit and where it comes from."""
    assert fleet_file.exists()
    done = run("limits", "list", "fleet.yaml")

    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["inspect", "(all)", "8", "models.inspect.qps_limit"] in rows
    assert ["preprocess", "(all)", "8", "caused", "by", "inspect", "(8", "*", "1)"] in rows
