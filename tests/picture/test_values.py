"""Numbers with units, and times of day."""

import math

import pytest

from tritonobs.extensions.picture.canvas import binary_step, colours_of, text_of, time_ticks


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        pytest.param(0.0123, "s", "12.3 ms", id="milliseconds"),
        pytest.param(0.000419, "s", "419 µs", id="microseconds"),
        pytest.param(1.5, "s", "1.5 s", id="seconds"),
        pytest.param(86400 * 3, "s", "3 d", id="days"),
        pytest.param(0.0, "s", "0 s", id="no time"),
        pytest.param(0.05, "percentunit", "5 %", id="a share"),
        pytest.param(1.05, "percentunit", "105 %", id="more than all"),
        pytest.param(-0.5, "percentunit", "-50 %", id="a budget overspent"),
        pytest.param(8.0, "reqps", "8 req/s", id="a rate"),
        pytest.param(3 * 1024**3, "bytes", "3 GiB", id="memory"),
        pytest.param(2200, "short", "2.2 K", id="thousands"),
        pytest.param(0.0025, "none", "0.0025", id="a little"),
        pytest.param(61, "celsius", "61 °C", id="a temperature"),
    ],
)
def test_a_value_reads_as_people_say_it(value, unit, text):
    """Few digits, the unit of its size."""
    assert text_of(value, unit) == text


def test_an_axis_has_one_unit():
    """Small ticks share the unit of the largest."""
    assert [text_of(value, "s", like=0.3) for value in (0, 0.05, 0.3)] == ["0 ms", "50 ms", "300 ms"]


@pytest.mark.parametrize("span", [1, 1000, 61 * 2**20, 24 * 2**30])
def test_ticks_of_memory_are_round_in_its_unit(span):
    """Powers of two, neither few nor many."""
    step = binary_step(span)

    assert math.log2(step).is_integer()
    assert 4 <= span / step < 8


def test_ticks_are_round_and_fit():
    """An hour of 600 dots has a label at most every 105 dots, at whole minutes."""
    ticks = time_ticks(1_700_000_000, 1_700_003_600, 600)

    assert 2 <= len(ticks) <= 6
    assert all(time % 900 == 0 for time, _ in ticks)


def test_a_name_keeps_its_colour_whoever_stands_beside_it():
    """Colours go by name; two names of one picture never share one while there are enough."""
    alone = colours_of(["inspect 1"], {})
    together = colours_of([f"model {number}" for number in range(8)], {"model 3": "#fff"})

    assert alone == colours_of(["inspect 1"], {})
    assert together["model 3"] == "#fff"
    assert len(set(together.values())) == 8
