"""The generated rules say what is true of simulated fleets, and are silent about the rest."""

from support.promtool import run


def test_rules_say_what_is_true(case, promtool, generated, tmp_path):
    """Every check of every case holds in promtool."""
    assert run(promtool, generated(case.world.scrape_seconds), case, tmp_path) == ""
