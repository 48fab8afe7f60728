"""What a real server's metrics page shows of the stages, and when."""

import subprocess

import pytest
import requests

from tritonobs import programs
from tritonobs.clients.exposition import parse_page
from tritonobs.stage import format_bound

pytestmark = pytest.mark.e2e

DURATION = "tritonobs_stage_duration_seconds"
BOUNDS = ("0.002", "0.25", "1", "+Inf")


def _samples(page, model):
    """Names and labels, without what tells workers apart."""
    return {
        (
            sample.name,
            *sorted(
                (name, float(value) if name == "le" else value)
                for name, value in sample.labels.items()
                if name not in ("model", "worker")
            ),
        )
        for sample in page.samples
        if sample.labels.get("model") == model and sample.name.startswith("tritonobs_")
    }


def test_both_sinks_show_the_same_samples(driver):
    """Names, labels and bucket bounds; counts are those of the requests."""
    for model in ("hostile", "histogram"):
        driver.reload(model)
        driver.send(model, "work", times=12)
        assert driver.total(f"{DURATION}_count", 12, model=model, stage="decode") == 12
        assert driver.total("tritonobs_stage_size_sum", 240_000, model=model) == 240_000

    page = driver.page()
    assert _samples(page, "hostile") == _samples(page, "histogram")
    for le in BOUNDS:
        of = {"stage": "decode", "le": le}
        counters, histogram = (
            page.total(f"{DURATION}_bucket", model=model, **of) for model in ("hostile", "histogram")
        )
        assert counters == histogram == 12


def test_bounds_are_written_as_prometheus_writes_its_own(prometheus_page):
    """In the fewest digits: the counters' `le` is that of every other exporter."""
    edges = {sample.labels["le"] for sample in prometheus_page.samples if "le" in sample.labels}

    assert {"+Inf", "0.005", "1.6384e+06"} <= edges
    assert {edge: format_bound(float(edge)) for edge in edges} == {edge: edge for edge in edges}


def test_stages_in_auto_complete_config_neither_hang_nor_show(driver):
    """Every model here makes some there; the server came up, and no series of theirs is on the page."""
    assert driver.api.model_ready("driven")
    assert {sample.labels.get("model") for sample in driver.page().samples} & {"early"} == set()


def test_unusable_parameters_are_in_the_servers_log(driver):
    """The model serves with the defaults."""
    driver.send("wrong", "work")
    assert driver.total(f"{DURATION}_bucket", 1, model="wrong", stage="total", le="120") == 1

    log = driver.server.log()
    assert "model wrong: parameter latency_buckets: '0.5, 0.25'" in log
    assert "model wrong: parameter metrics_sink is 'gauge', allowed are" in log


def test_scrapes_under_load_do_not_see_torn_buckets(driver):
    """Read as fast as the page comes: less than one reading in a hundred has a bucket above a larger one."""
    readings = []
    with driver.clients("driven") as clients:
        while len(readings) < 500:
            readings.append(requests.get(driver.server.metrics_url, timeout=10).text)

    torn = sum(_is_torn(parse_page(text, prefixes=(f"{DURATION}_bucket",))) for text in readings)
    assert clients.ok > 0
    assert torn < 5


def _is_torn(page):
    buckets = {}
    for sample in page.samples:
        labels = dict(sample.labels)
        edge = float(labels.pop("le"))
        buckets.setdefault(tuple(sorted(labels.items())), []).append((edge, sample.value))
    values = ([value for _, value in sorted(edges)] for edges in buckets.values())
    return any(each != sorted(each) for each in values)


def test_promtool_dislikes_the_type_of_the_counters_and_nothing_else(driver):
    """Of ours it names the distributions that counters stand in for, no other series."""
    page = requests.get(driver.server.metrics_url, timeout=10).text
    done = subprocess.run(
        [programs.find("promtool"), "check", "metrics"],
        input=page,
        capture_output=True,
        text=True,
        check=False,
    )

    complaints = (done.stdout + done.stderr).splitlines()
    named = {line.split()[0] for line in complaints if line.startswith("tritonobs_")}
    assert named == {
        f"{family}_{part}"
        for family in (DURATION, "tritonobs_stage_size")
        for part in ("bucket", "count", "sum")
    }
