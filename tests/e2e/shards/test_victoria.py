"""vmagents, VictoriaMetrics and vmalert see what one Prometheus sees, and miss no agent silently."""

import pytest

from support.victoria_rig import PROGRAMS, Victoria
from support.victoria_seen import lived
from tritonobs import programs

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
TOLERANCE = 0.05
"""Scrapes of a busy machine are late or lost; bench/victoria.py tells what is equal within 0.1 %."""
APART = 0.02
"""Of all series: what grows by less than ten in a minute differs more when one scrape counts elsewhere."""
SLOW = "TritonErrorBudget.+|TritonErrorReasonSurge|TritonQpsNearLimit"
"""The windows of most are longer than this test. The last waits for 6 s here, not for a minute, and vmalert
reads only some seconds later that the limit's page fires, which makes it silent."""
EXPECTED = {"TritonErrorBudgetBurnFast", "TritonModelUnloaded", "TritonServerDown", "Watchdog"}
"""Of those that fire in one Prometheus."""


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory):
    for program in ("prometheus", "alertmanager"):
        if programs.look(program) is None:
            pytest.skip(f"no {program} here; get it with: tritonobs tools")
    for program in PROGRAMS:
        if programs.look(program) is None:
            pytest.skip(f"no {program} here; Debian's package victoria-metrics has it")
    with Victoria(tmp_path_factory.mktemp("victoria"), speed=10) as rig:
        yield lived(
            rig, calm=110, restart=8, over=34, stopped=18, back=15, tolerance=TOLERANCE, patience=60,
            expected=EXPECTED, ignored=SLOW,
        )  # fmt: skip


def test_records_are_alike(told):
    """Of all models and servers, whichever agent scrapes them."""
    apart = [row for rows in told.seen.different.values() for row in rows]

    assert told.seen.compared > 1000
    assert len(apart) <= APART * told.seen.compared, apart


def test_the_same_alerts_fire(told):
    """With all their labels, and each kind that was to be expected."""
    assert told.seen.apart == frozenset()
    assert {dict(labels)["alertname"] for labels in told.seen.whole} >= EXPECTED


def test_an_overflow_is_told(told):
    """Later than by one Prometheus: each record is read an evaluation after it was made, and 5 s late."""
    one, whole = told.seen.overflow

    assert one is not None
    assert whole is not None
    assert whole - one <= 25


def test_an_agent_that_is_lost_is_one_alert(told):
    """Nothing that it had is missed; and nothing is when it is back."""
    assert told.seen.false == (), "\n".join(told.seen.false)
    assert [dict(labels)["alertname"] for labels in told.seen.told] == ["TritonobsAgentMissing"]
    assert told.back == frozenset()


def test_a_restart_of_vmalert_tells_nothing_again(told):
    """It reads which alerts there were, and since when; Alertmanager never takes one for over."""
    assert told.restart.firing >= len(EXPECTED)
    assert told.restart.again == frozenset()
    assert told.restart.forgotten == frozenset()
