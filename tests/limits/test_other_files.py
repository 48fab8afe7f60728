"""A log that is another file, and a fleet file with two names: nothing is lost, nothing is overwritten."""

from __future__ import annotations

import pytest

from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.limits.change import LIMITS_LOG_VARIABLE, log_of
from tritonobs.limits.log import LimitsLog

FLEET = 'fleet: a\nreplicas: [{name: t, url: "http://t:8000"}]\nmodels: {m: {qps_limit: 1}}'


def _fleet(folder, more=""):
    path = folder / "fleet.yaml"
    path.write_text(FLEET + more)
    return path


@pytest.mark.parametrize("by", ["the fleet file", "the environment"])
def test_the_fleet_file_is_not_its_own_log(tmp_path, monkeypatch, by):
    """Its last line would be taken for one that a crash had cut."""
    path = _fleet(tmp_path, "\nlimits_log: ./fleet.yaml" if by == "the fleet file" else "")
    if by == "the environment":
        monkeypatch.setenv(LIMITS_LOG_VARIABLE, str(path))
    with pytest.raises(SpecInvalid, match="is the fleet file itself"):
        log_of(path)


@pytest.mark.parametrize("text", ["my notes\nlast", "notes\n", "a: 1", '[{"a": 1}]\n'])
def test_another_file_is_left_as_it_is(tmp_path, text):
    """No line of it is an entry."""
    path = _fleet(tmp_path, "\nlimits_log: notes.txt")
    (tmp_path / "notes.txt").write_text(text)
    with pytest.raises(FileUnusable, match="is another file"), log_of(path).turn():
        pass
    assert (tmp_path / "notes.txt").read_text() == text


@pytest.mark.parametrize("text", ["", '{"number": 1, "at": "2026-01', "\n"])
def test_a_log_that_was_cut_at_its_beginning_is_one(tmp_path, text):
    """The first entry of all was being written."""
    path = _fleet(tmp_path)
    (tmp_path / "fleet.limits.jsonl").write_text(text)
    with log_of(path).turn():
        pass


def test_all_names_of_a_fleet_file_have_one_log(tmp_path):
    """A log that an earlier release began under a link's name is gone on with."""
    path = _fleet(tmp_path)
    link = tmp_path / "other.yaml"
    link.symlink_to(path)
    assert log_of(link).path == log_of(path).path == tmp_path / "fleet.limits.jsonl"
    (tmp_path / "other.limits.jsonl").touch()
    assert log_of(link).path == tmp_path / "other.limits.jsonl"
    (tmp_path / "fleet.limits.jsonl").touch()
    assert log_of(link).path == tmp_path / "fleet.limits.jsonl"


def test_a_log_that_is_too_large_is_named_once(tmp_path, monkeypatch):
    """A writer reads it first: what that says stands once in the error."""
    monkeypatch.setattr("tritonobs.limits.log.MOST_BYTES", 10)
    path = tmp_path / "fleet.limits.jsonl"
    path.write_text('{"at": "2026-01-01"}\n')

    with pytest.raises(FileUnusable) as raised, LimitsLog(path).turn():
        pass

    assert str(raised.value).count("the log of limits") == 1
