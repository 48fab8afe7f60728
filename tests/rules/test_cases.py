"""The generated rules say what is true of simulated fleets, and are silent about the rest."""

import pytest

from support.promtool import run
from support.simulate import World


def test_rules_say_what_is_true(case, case_engine, generated):
    """Every check of every case holds in Prometheus."""
    assert case_engine.wrong(generated(case.world.scrape_seconds), case) == ""


def test_promtool_says_the_same(promtool_case, promtool, generated, tmp_path):
    """Every check of some cases holds in Prometheus' own tool for that, too."""
    assert run(promtool, generated(promtool_case.world.scrape_seconds), promtool_case, tmp_path) == ""


@pytest.mark.parametrize(
    "times",
    [{"queue": 0.15}, {"compute": 0.05}, {"seconds": 0.04}, {"seconds": [(2, 0.2), (3, 0.01), (9, 0.2)]}],
    ids=["a long queue", "long compute", "a short request", "short for a while"],
)
def test_a_request_that_is_shorter_than_its_parts_is_refused(times):
    """Triton counts none, so a case on one says nothing about rules. As long as its parts is long enough."""
    with pytest.raises(ValueError, match=r"queue and compute are .* s of seconds=0\.\d+; give `seconds`"):
        World(minutes=5).triton("nms", qps=1, **times)

    World(minutes=5).triton("nms", qps=1, seconds=0.044)
