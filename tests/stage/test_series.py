"""Bucket bounds as people write them in config.pbtxt."""

import pytest

from tritonobs.stage import DEFAULT_BOUNDS_SECONDS, format_bound, parse_bounds


def test_bounds_read_as_written():
    """Seconds, separated by commas, spaces or none."""
    assert parse_bounds("0.01, 0.25,1") == (0.01, 0.25, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("fast", id="a word"),
        pytest.param("0.5; 1", id="semicolons"),
        pytest.param("1, 0.5", id="falling"),
        pytest.param("0.5, 0.5", id="twice the same"),
        pytest.param("0, 1", id="zero"),
        pytest.param("-1, 1", id="negative"),
        pytest.param("1, nan", id="not a number"),
        pytest.param("1, inf", id="the infinite bucket is always there"),
        pytest.param("0.00001, 1", id="shorter than prints without an exponent"),
        pytest.param(", ".join(str(at) for at in range(1, 62)), id="sixty-one"),
    ],
)
def test_unusable_bounds_are_refused_with_what_is_allowed(text):
    """The message repeats the text and says how to write it."""
    with pytest.raises(ValueError, match=r"seconds") as refused:
        parse_bounds(text)

    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("bound", "le"),
    [(0.25, "0.25"), (1.0, "1"), (10.0, "10"), (0.0001, "0.0001"), (1e6, "1000000"), (float("inf"), "+Inf")],
)
def test_a_bound_is_printed_as_triton_prints_it(bound, le):
    """Both sinks give the same `le`."""
    assert format_bound(bound) == le


def test_default_bounds_serve_detection_models():
    """1 ms to 10 s, and the targets people choose are among them."""
    assert parse_bounds(", ".join(map(str, DEFAULT_BOUNDS_SECONDS))) == DEFAULT_BOUNDS_SECONDS
    assert (DEFAULT_BOUNDS_SECONDS[0], DEFAULT_BOUNDS_SECONDS[-1]) == (0.001, 10.0)
    assert {0.05, 0.1, 0.25, 0.5, 1.0} <= set(DEFAULT_BOUNDS_SECONDS)
