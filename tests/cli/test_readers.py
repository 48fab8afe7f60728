"""Whoever reads the output may stop reading."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["schema"], id="much"),
        pytest.param(["--help"], id="help"),
        pytest.param(["triage", "--help"], id="help of a command"),
    ],
)
def test_a_reader_that_reads_no_further_is_no_finding(arguments: list[str]) -> None:
    """It ends as other programs do, by SIGPIPE, and says nothing: 1 would mean findings."""
    command = [sys.executable, "-m", "tritonobs", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        said = program.stderr.read()

    assert (program.returncode, said) == (141, b"")
