"""What a check judges by beside the expression: the release, the scrape interval, and other rules."""

from support.linting import ids


def test_a_release_decides_what_exists():
    """Series, and the label reason, before their first release."""
    split = "rate(nv_inference_request_failure[5m]) / rate(nv_inference_request_success[5m])"

    assert "other-release" in ids("nv_model_load_duration_secs", "q.promql", triton_version="24.10")
    assert "other-release" not in ids("nv_model_load_duration_secs", "q.promql", triton_version="24.11")
    assert "unmatched-join" not in ids(split, "q.promql", triton_version="24.06")
    assert "unmatched-join" in ids(split, "q.promql", triton_version="24.07")


def test_the_scrape_interval_decides_which_window_is_short():
    """Also the shortest interval of a file's groups, which no one evaluates more often than it is scraped."""
    rules = "groups: [{name: g, interval: 5s, rules: [{record: a, expr: 'rate(nv_inference_count[15s])'}]}]"
    two = rules.replace("interval: 5s", "interval: 30s").replace(
        "}]}]", "}]}, {name: h, interval: 5s, rules: []}]"
    )

    assert "short-window" in ids("rate(nv_inference_count[1m])", "q.promql", scrape_seconds=60)
    assert "short-window" not in ids("rate(nv_inference_count[10s])", "q.promql", scrape_seconds=5)
    assert "short-window" not in ids(rules)
    assert "short-window" in ids(rules.replace("interval: 5s, ", ""))
    assert "short-window" not in ids(two)
    assert "short-window" in ids(two.replace("interval: 5s", "interval: 1m"))


def test_a_series_that_the_rules_record_exists():
    """Whatever it is called."""
    rules = (
        "groups: [{name: g, rules: [{record: nv_inference_mean_us, expr: up},"
        " {alert: A, expr: nv_inference_mean_us > 1}]}]"
    )

    assert ids(rules) == set()
    assert ids(rules.replace("record: nv_inference_mean_us", "record: other")) == {"unknown-series"}
