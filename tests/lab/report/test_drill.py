"""What is told of a drill while it goes on."""

import pytest

from tritonobs.extensions.lab.drill.drill import Moment
from tritonobs.extensions.lab.report import drill_timeline


def test_a_long_moment_is_wrapped_under_its_beginning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seconds stay a column of their own; stdout stays empty."""
    monkeypatch.setenv("COLUMNS", "60")

    with drill_timeline() as tell:
        tell("slow-nms", Moment(seconds=25.04, what="triage: suppress of nms takes 603 ms, was 2 ms"))

    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "slow-nms         +  25.0 s  triage: suppress of nms takes\n"
        "                            603 ms, was 2 ms\n"
    )
