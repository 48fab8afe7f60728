"""Metrics pages as Triton prints them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tritonobs.clients import exposition
from tritonobs.clients.exposition import PageSample, parse_page, read_page
from tritonobs.errors import BadAnswer

if TYPE_CHECKING:
    from conftest import Wire


TRITON_PAGE = """\
# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="inspect",version="1"} 7
nv_inference_request_success{model="say \\"{hi}\\"\\n",version="1"} 2
# TYPE nv_inference_queue_summary_us summary
nv_inference_queue_summary_us{model="inspect",version="1",quantile="0.5"} Nan
# TYPE tritonobs_stage_duration_seconds_bucket counter
tritonobs_stage_duration_seconds_bucket{model="inspect",stage="total",le="+Inf"} 7.000000
nv_cpu_utilization 0.25
"""


def test_triton_counters_keep_their_names() -> None:
    """No `_total` is put on a counter that has none: PromQL would not know it."""
    page = parse_page(TRITON_PAGE)

    assert page.by_name["nv_inference_request_success"][0] == PageSample(
        name="nv_inference_request_success", labels={"model": "inspect", "version": "1"}, value=7.0
    )
    assert page.unreadable == ()


def test_hostile_label_values_are_data() -> None:
    """Quotes, braces and newlines in a model's name come back as they were."""
    page = parse_page(TRITON_PAGE)

    assert page.by_name["nv_inference_request_success"][1].labels["model"] == 'say "{hi}"\n'


def test_only_a_line_feed_ends_a_line() -> None:
    """A name may hold what Unicode, too, calls the end of a line."""
    page = parse_page('a{model="x\u2028y\x85z\x0c"} 1\r\nb 2\n')

    assert [(sample.name, sample.value) for sample in page.samples] == [("a", 1), ("b", 2)]
    assert page.samples[0].labels == {"model": "x\u2028y\x85z\x0c"}


def test_tritons_nan_is_read() -> None:
    """Triton prints `Nan`."""
    page = parse_page(TRITON_PAGE)

    assert math.isnan(page.by_name["nv_inference_queue_summary_us"][0].value)


def test_total_sums_what_carries_the_labels() -> None:
    """Sums over workers and models; a name that is not there is 0."""
    page = parse_page(TRITON_PAGE)

    assert page.total("nv_inference_request_success") == 9
    assert page.total("nv_inference_request_success", model="inspect") == 7
    assert page.total("nv_inference_request_failure") == 0


def test_prefixes_leave_the_rest_unread() -> None:
    """A page of thousands of lines costs only what is asked of it."""
    page = parse_page(TRITON_PAGE, prefixes=("nv_cpu_",))

    assert [sample.name for sample in page.samples] == ["nv_cpu_utilization"]


def test_a_line_that_is_no_sample_is_kept_apart() -> None:
    """A HELP text with a raw newline spoils one line, not the page."""
    page = parse_page("# HELP a first\nsecond line of help\na 1\n")

    assert page.unreadable == ("second line of help",)
    assert page.total("a") == 1


def test_a_page_that_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of a hundred thousand labels is unreadable, a page of too many samples is none."""
    line = "a{" + ",".join(f'l{at}="x"' for at in range(100_000)) + "} 1"
    assert len(parse_page(f"{line}\nb 1\n").unreadable) == 1
    monkeypatch.setattr(exposition, "MOST_SAMPLES", 3)
    assert len(parse_page("a 1\n" * 3).samples) == 3
    with pytest.raises(BadAnswer, match="more than 3 samples"):
        parse_page("a 1\n" * 4)


def test_an_empty_page_is_a_bad_answer(wire: Wire) -> None:
    """Triton answers 200 and nothing on a wrong path: that is no healthy, idle server."""
    wire.says("/metric", "")

    with pytest.raises(BadAnswer, match="empty response"):
        read_page(f"{wire.url}/metric")


def test_a_page_is_read_from_its_url(wire: Wire) -> None:
    """Path and parameters of the address are used as they are."""
    wire.says("/metrics", TRITON_PAGE)

    assert read_page(f"{wire.url}/metrics?x=1").total("nv_cpu_utilization") == 0.25
    assert wire.asked == [("GET", "/metrics", {"x": ["1"]})]
