"""Durations, ratios and numbers: what people write, what Prometheus reads."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from urllib.parse import urlsplit

import promql_parser
import pytest

from tritonobs import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", "0.25"), ("30s", "30"), ("1h30m", "5400"), ("30d", "2592000"), ("1w", "604800"), ("0s", "0")],
)
def test_parse_duration_reads_what_prometheus_reads(text, seconds):
    """Seconds, exact."""
    assert units.parse_duration(text) == Decimal(seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m5", "1.5h", "30m1h", "-5m", "5min", "∞"])
def test_parse_duration_refuses_what_prometheus_refuses(text):
    """The message shows what was found and how to write it."""
    with pytest.raises(ValueError, match="is not a duration; write one like"):
        units.parse_duration(text)


@pytest.mark.parametrize("text", ["9223372037s", "999999999999999w", "15251w"])
def test_parse_duration_refuses_what_is_too_long_for_prometheus(text):
    """It counts in nanoseconds of 63 bits; so long a duration is a traceback elsewhere."""
    assert units.parse_duration("9223372036s") == units.MAX_SECONDS
    with pytest.raises(ValueError, match=f"is too long; .* at most {units.MAX_SECONDS}s"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [("0.25", "250ms"), ("5400", "1h30m"), ("2592000", "30d"), ("0", "0s"), ("90061.5", "1d1h1m1s500ms")],
)
def test_format_duration_can_be_read_back(seconds, text):
    """The largest unit is the day."""
    assert units.format_duration(Decimal(seconds)) == text
    assert units.parse_duration(text) == Decimal(seconds)


@pytest.mark.parametrize(
    ("text", "ratio"), [("99.9%", "0.999"), ("0.999", "0.999"), ("100%", "1"), (" 0 ", "0")]
)
def test_parse_ratio_is_exact(text, ratio):
    """One minus 99.9 % is 0.001, not 0.0009999999999999432."""
    assert units.parse_ratio(text) == Decimal(ratio)


@pytest.mark.parametrize("text", ["", "99,9%", "nan", "inf%", "101%", "1.5", "-1%", "%"])
def test_parse_ratio_refuses_what_is_no_share(text):
    """No NaN, nothing outside 0 to 1."""
    with pytest.raises(ValueError, match=r"is not a share|is not between"):
        units.parse_ratio(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (Decimal("14.40"), "14.4"),
        (1e-7, "0.0000001"),
        (1e21, "1" + 21 * "0"),
        (-0.0, "0"),
        (100, "100"),
    ],
)
def test_format_number_has_no_exponent(value, text):
    """Text expositions and people read it."""
    assert units.format_number(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN")])
def test_format_number_refuses_what_is_no_number(value):
    """NaN never reaches an artifact."""
    with pytest.raises(ValueError, match="finite"):
        units.format_number(value)


def test_format_percent_prints_what_was_written():
    """99.999 % keeps its digits."""
    assert units.format_percent(Decimal("0.99999")) == "99.999%"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00085, "850 µs"),
        (0.0000703, "70.3 µs"),
        (0.0009999, "1 ms"),
        (0.085, "85 ms"),
        (0.9999, "1 s"),
        (1.234, "1.23 s"),
        (12345.6, "12346 s"),
        (0, "0 ms"),
    ],
)
def test_format_latency_picks_the_unit(seconds, text):
    """Milliseconds below a second, microseconds below one of these: one unit, no zeros to count."""
    assert units.format_latency(seconds) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-11T00:00Z", datetime(2026, 11, 11, tzinfo=timezone.utc)),
        ("2026-11-11 08:30:15z", datetime(2026, 11, 11, 8, 30, 15, tzinfo=timezone.utc)),
        ("2026-11-11T00:00:00.5+08:00", datetime(2026, 11, 10, 16, 0, 0, 500000, tzinfo=timezone.utc)),
        (
            "2026-11-11T00:00:00.123456789-05:30",
            datetime(2026, 11, 11, 5, 30, 0, 123456, tzinfo=timezone.utc),
        ),
    ],
)
def test_a_moment_is_read_with_its_zone(text, moment):
    """As RFC 3339 writes it, the same on every Python; what is finer than a microsecond is cut."""
    assert units.parse_moment(text) == moment
    assert units.parse_moment(text).utcoffset() in {timedelta(0), timedelta(hours=8), timedelta(hours=-5.5)}


@pytest.mark.parametrize("text", ["2026-11-11", "2026-11-11T00:00", "2026-11-11 00:00:00.5"])
def test_a_moment_without_its_zone_is_refused_everywhere(text):
    """It would mean another time on another machine."""
    with pytest.raises(ValueError, match="has no time zone; write one like 2026-11-11T00:00:00"):
        units.parse_moment(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "20261111T0000Z",
        "2026-W46-3T00:00Z",
        "2026-11-11T00Z",
        "٢٠٢٦-11-11T00:00Z",
        "2026-11-11T00:00Z\0",
    ],
)
def test_what_is_no_moment_is_refused(text):
    """Also forms that only newer Pythons read."""
    with pytest.raises(ValueError, match="is not a moment; write one like"):
        units.parse_moment(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0001-01-01T00:00:00Z", "allowed are years from 1970 to 9000"),
        ("9999-12-31T23:59:59-14:00", "allowed are years from 1970 to 9000"),
        ("2026-13-11T00:00Z", "month must be in 1..12"),
        ("2026-11-11T25:00Z", "hour must be in 0..23"),
        ("2026-11-11T00:00+99:99", "."),
    ],
)
def test_a_moment_that_cannot_be_is_refused(text, says):
    """Go's zero time among them; no arithmetic with a moment overflows."""
    with pytest.raises(ValueError, match=says):
        units.parse_moment(text)


def test_versions_are_sorted_by_number_however_many_digits_they_have() -> None:
    """A server says which there are; `int` refuses thousands of digits."""
    versions = ["9" * 5000, "10", "no number", "011", "9", ""]

    assert sorted(versions, key=units.version_order) == ["", "no number", "9", "10", "011", "9" * 5000]


@pytest.mark.parametrize(
    ("host", "written"),
    [("10.0.0.7", "10.0.0.7:8002"), ("triton-1", "triton-1:8002"), ("fd00::7", "[fd00::7]:8002")],
)
def test_an_ipv6_address_has_brackets_before_its_port(host, written):
    """As urlsplit reads it back."""
    assert units.host_port(host, 8002) == written
    assert urlsplit(f"http://{written}/").hostname == host


@pytest.mark.parametrize("text", ["inspect", 'a"b', "back\\slash", "two\nlines", "{x=1}", "部件\t检测", ""])
def test_a_literal_is_one_string_of_promql(text):
    """A parser that is not ours reads the text back."""
    tree = promql_parser.parse(f"up{{model={units.literal(text)}}}")

    (matcher,) = tree.matchers.matchers
    assert matcher.value == text


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 1e308, -1e18])
def test_what_is_not_a_moment_is_an_unknown_time(moment):
    """Prometheus may answer NaN, and a kept file may hold anything."""
    assert units.format_moment(moment) == units.format_clock(moment) == "an unknown time"
