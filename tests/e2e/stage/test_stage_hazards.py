"""What could kill a server, tried on a real one: it lives, requests succeed, counts are exact."""

import os
import signal
from collections import Counter

import pytest

from tritonobs.extensions.lab.stack.services import cache_flags

pytestmark = pytest.mark.e2e

REQUESTS = "tritonobs_requests_total"
DURATION = "tritonobs_stage_duration_seconds"
HEARTBEAT = "tritonobs_heartbeat_timestamp_seconds"
DROPPED = "tritonobs_flush_dropped_total"


def test_reload_in_place_under_load_loses_neither_the_server_nor_a_count(driver):
    """Old and new workers overlap twice: no client error, and a scraper saw every request."""
    before = driver.workers("driven")
    decoded = {"model": "driven", "stage": "decode"}
    with driver.scraper() as seen:
        with driver.clients("driven") as clients:
            for _ in range(2):
                driver.reload("driven")
        driver.wait(lambda: seen.total(f"{DURATION}_count", **decoded) == clients.ok)

    driver.server.require_alive()
    assert clients.errors == Counter()
    assert seen.total(REQUESTS, model="driven", outcome="ok") == clients.ok
    assert seen.total(f"{DURATION}_count", **decoded) == clients.ok
    driver.wait(lambda: len(driver.workers("driven")) == 4)
    assert not before & driver.workers("driven")


def test_unload_and_load_again_loses_no_count(driver):
    """What was counted after the last scrape of an unloaded model was still scraped."""
    with driver.scraper() as seen:
        driver.send("histogram", "work", times=10)
        driver.unload("histogram")
        driver.api.load("histogram")
        driver.send("histogram", "work", times=10)
        driver.wait(lambda: seen.total(REQUESTS, model="histogram", outcome="ok") == 20)

    assert seen.total(REQUESTS, model="histogram", outcome="ok") == 20


def test_many_threads_give_exact_totals(driver):
    """Eight threads record in one process; a Metric object only ever sees one."""
    driver.send("hostile", "threads", times=3)

    assert driver.total(f"{DURATION}_count", 24_000, stage="threads") == 24_000
    driver.server.require_alive()


def test_impossible_values_reach_no_series(driver):
    """NaN, infinities, negative numbers and things that are not numbers are dropped and counted."""
    driver.send("hostile", "values", times=10)

    assert driver.total(REQUESTS, 13, model="hostile", outcome="ok") == 13
    page = driver.page()
    assert page.total(f"{DURATION}_count", stage="values") == 0
    assert page.total(DROPPED, model="hostile", reason="invalid") == 270
    assert page.total("tritonobs_flush_errors_total") == 0


def test_hostile_labels_are_data_or_dropped(driver):
    """Texts Prometheus can carry arrive as they are; others and those over the cap are counted as dropped."""
    driver.send("hostile", "labels")

    driver.wait(lambda: driver.page().total(f"{DURATION}_count", model="hostile", stage="汉字") == 1)
    page = driver.page()
    stages = {sample.labels["stage"] for sample in page.by_name[f"{DURATION}_count"]}
    assert {'quo"te', "new\nline", "brace}", "back\\slash", "汉字", "le", "{}", " "} <= stages
    assert page.unreadable == ()
    assert page.total(DROPPED, model="hostile", reason="invalid") >= 27
    assert page.total(DROPPED, model="hostile", reason="label_cap") > 800
    driver.server.require_alive()


def test_a_killed_worker_shows_by_its_heartbeat_alone(driver):
    """Triton calls the model ready and keeps the dead worker's series; a reload brings a new worker."""
    driver.send("mortal", "work", times=5)
    assert driver.total(REQUESTS, 5, model="mortal") == 5
    (killed,) = driver.workers("mortal")

    os.kill(int(killed.split("-")[-2]), signal.SIGKILL)
    beat = driver.page().total(HEARTBEAT, worker=killed)
    clients = driver.clients("mortal")
    clients.send(2)
    assert clients.ok == 0
    assert driver.api.model_ready("mortal")
    assert driver.page().total(HEARTBEAT, worker=killed) == beat

    driver.reload("mortal")
    driver.send("mortal", "work", times=7)
    assert driver.total(REQUESTS, 12, model="mortal") == 12
    assert driver.page().total(REQUESTS, worker=killed) == 5
    driver.server.require_alive()


def test_a_model_that_forgets_finalize_loses_at_most_a_flush_and_harms_nobody(driver):
    """What was flushed stays on the page, with the dead worker's series; the model loads and counts again."""
    (worker,) = driver.workers("forgetful")
    driver.send("forgetful", "work", times=5)
    assert driver.total(REQUESTS, 5, worker=worker) == 5
    driver.unload("forgetful")

    assert driver.page().total(REQUESTS, worker=worker) == 5
    driver.api.load("forgetful")
    driver.send("forgetful", "work", times=3)
    assert driver.total(REQUESTS, 8, model="forgetful") == 8
    driver.server.require_alive()


@pytest.mark.parametrize("instances", ["", "_1"], ids=["each instance", "one of two"])
def test_a_load_that_fails_leaves_no_series(driver, instances):
    """Again and again: the page has the old workers and nobody else; then the model loads and counts."""
    driver.wait(lambda: len(driver.workers("broken")) == 2)
    before = driver.workers("broken")
    for _ in range(3):
        driver.fail_to_load("broken", instances)

    driver.wait(lambda: driver.workers("broken") == before)
    assert driver.workers("broken") == before
    driver.reload("broken")
    driver.wait(lambda: len(driver.workers("broken") - before) == len(driver.workers("broken")) == 2)
    driver.send("broken", "request", times=4)
    assert driver.total(REQUESTS, 4, model="broken") == 4
    driver.server.require_alive()


def test_a_model_that_fails_its_first_load_leaves_no_series(driver):
    """Unloaded before, so no old worker hides it."""
    driver.unload("broken")
    driver.wait(lambda: driver.workers("broken") == set())
    driver.fail_to_load("broken")

    assert driver.workers("broken") == set()
    driver.api.load("broken")
    driver.wait(lambda: len(driver.workers("broken")) == 2)
    assert len(driver.workers("broken")) == 2


def test_forked_children_harm_neither_server_nor_counts(driver):
    """What they record is counted as dropped, and the log says so."""
    before = driver.page()
    driver.send("histogram", "fork", times=4)

    dropped = before.total(DROPPED, model="histogram", reason="forked") + 3 * 4 * 3
    assert driver.total(DROPPED, dropped, model="histogram", reason="forked") == dropped
    requests = before.total(REQUESTS, model="histogram") + 4
    assert driver.total(REQUESTS, requests, model="histogram") == requests
    assert "what it records does not reach Triton" in driver.server.log()
    driver.server.require_alive()


def test_second_stages_of_a_model_count_with_the_first(driver):
    """One worker on the page, each request once."""
    before = driver.page().total(REQUESTS, model="hostile", outcome="ok")
    driver.send("hostile", "again", times=5)

    assert driver.total(REQUESTS, before + 5, model="hostile", outcome="ok") == before + 5
    assert len(driver.workers("hostile")) == 1
    assert "model hostile has stages in this process already" in driver.server.log()


def test_a_cache_hit_is_no_execution(triton):
    """Triton counts five successes and answers four of them itself: the model counts one request."""
    cached = {"driven": {"more": "response_cache { enable: true }"}}
    with triton(cached, *cache_flags(1 << 20)) as server:
        server.send("driven", "request", times=5)

        # Triton counts a request after it has answered it.
        assert server.total("nv_inference_request_success", 5, model="driven") == 5
        assert server.total("nv_cache_num_hits_per_model", 4, model="driven") == 4
        assert server.total(REQUESTS, 1, model="driven", outcome="ok") == 1
        assert server.page().total(f"{DURATION}_count", model="driven", stage="total") == 1


def test_a_server_without_metrics_serves_all_the_same(triton):
    """`--allow-metrics=false`: requests succeed, reload and unload end."""
    with triton({"driven": {}}, "--allow-metrics=false") as mute:
        mute.send("driven", "work", times=50)
        mute.reload("driven")
        mute.send("driven", "work", times=50)
        mute.unload("driven")
