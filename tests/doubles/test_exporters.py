"""Pages of exporters as they are at a moment."""

from __future__ import annotations

import pytest

from support.exporters import page_now

PAGE = """\
# TYPE chip_power gauge
chip_power{id="0",name="a b"} 200
# TYPE chip_memory_total gauge
chip_memory_total{id="0"} 65536
"""


def _values(page: str) -> dict[str, list[str]]:
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    return {line.split("{")[0]: line.rpartition("} ")[2].split() for line in lines}


def test_a_page_stays_as_it_is_written() -> None:
    """Nothing moves unasked."""
    assert page_now(PAGE, 1000.0, waves=0, stamped=False) == PAGE


def test_a_stamp_is_the_time_in_milliseconds() -> None:
    """On samples only."""
    page = page_now(PAGE, 1000.5, waves=0, stamped=True)

    assert _values(page) == {"chip_power": ["200", "1000500"], "chip_memory_total": ["65536", "1000500"]}
    assert [line for line in page.splitlines() if line.startswith("#")] == PAGE.splitlines()[::2]


@pytest.mark.parametrize("now", [0.0, 17.0, 95.0])
def test_waves_move_what_can_move(now: float) -> None:
    """Within the share, and never what a card is made with."""
    page = _values(page_now(PAGE, now, waves=0.2, stamped=False))

    assert 160 <= float(page["chip_power"][0]) <= 200
    assert page["chip_memory_total"] == ["65536"]
