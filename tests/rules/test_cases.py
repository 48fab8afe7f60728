"""The generated rules say what is true of simulated fleets, and are silent about the rest."""

from support.promtool import run


def test_rules_say_what_is_true(case, case_engine, generated):
    """Every check of every case holds in Prometheus."""
    assert case_engine.wrong(generated(case.world.scrape_seconds), case) == ""


def test_promtool_says_the_same(promtool_case, promtool, generated, tmp_path):
    """Every check of some cases holds in Prometheus' own tool for that, too."""
    assert run(promtool, generated(promtool_case.world.scrape_seconds), promtool_case, tmp_path) == ""
