"""The catalogue of `tritonobs lint` against the page of a real server, with every flag that adds series."""

from __future__ import annotations

import re
import urllib.request

import pytest

from tritonobs.extensions.lab.stack.services import cache_flags
from tritonobs.extensions.lint.catalogue import catalogue, release

pytestmark = pytest.mark.e2e

RELEASE = "24.10"
"""Of the server in nvidia-pytriton 0.7.0."""
FLAGS = (
    "--metrics-config=summary_latencies=true",
    "--metrics-config=histogram_latencies=true",
    *cache_flags(1_000_000),
)
MODELS = {"plain": {}, "cached": {"more": "response_cache { enable: true }"}}


@pytest.fixture(name="page", scope="module")
def _page(triton):
    """The page as text, after requests, a failure of a backend, a hit and a miss."""
    with triton(MODELS, *FLAGS) as driver:
        for model in MODELS:
            driver.send(model, "work", times=3)
        with urllib.request.urlopen(driver.server.metrics_url, timeout=10) as answer:
            yield answer.read().decode()


def test_every_series_of_the_page_is_in_the_catalogue(page):
    """With its type, and with no label that the catalogue does not know."""
    held = catalogue()
    types = dict(re.findall(r"^# TYPE (\S+) (\w+)$", page, re.MULTILINE))

    assert len(types) > 30
    for name, kind in types.items():
        found = held.find(name)
        assert found, name
        # Models count the parts of a histogram in counters of their own.
        assert kind == ("counter" if found.part else found.series.type), name
    for name, labels in re.findall(r"^([\w:]+)(?:\{(.*)\})? ", page, re.MULTILINE):
        found = held.find(name)
        assert found, name
        assert set(re.findall(r'(\w+)="', labels)) <= {*found.labels, *found.series.optional}, name


def test_every_series_of_the_catalogue_is_on_the_page(page):
    """Those of Triton itself in this release; cards and later releases are not here."""
    there = set(re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE))
    wanted = {
        one.name
        for one in catalogue().series.values()
        if one.group in ("model", "server", "cache")
        and "gpu_uuid" not in one.labels
        and not one.until
        and (not one.since or release(one.since) <= release(RELEASE))
    }

    assert wanted - there == set()


def test_values_of_labels_are_all_that_there_are(page):
    """The reasons of failures are there from the load, so the page shows all of them."""
    reasons = set(re.findall(r'nv_inference_request_failure\{.*reason="(\w+)"', page))

    assert reasons == set(catalogue().series["nv_inference_request_failure"].values["reason"])
