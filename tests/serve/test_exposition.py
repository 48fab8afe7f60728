"""Limits and objectives as series, as they hold now."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tritonobs.serve import exposition
from tritonobs.serve.config import load_served
from tritonobs.serve.exposition import ObjectivePage

START = datetime(2026, 11, 11, tzinfo=timezone.utc)
FLEET = """\
fleet: shop
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
limits_source: {notify}
models:
  inspect:
    qps_limit: 8
    scheduled_limits: [{{qps_limit: 80, valid_from: 2026-11-11T00:00Z, valid_until: 2026-11-12T00:00Z}}]
"""


@pytest.fixture
def clock(monkeypatch) -> dict[str, datetime]:
    """The time of the page; a test moves it."""
    now = {"now": START}

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            assert tz is timezone.utc
            return now["now"]

    monkeypatch.setattr(exposition, "datetime", Clock)
    return now


def _limit(page: bytes) -> str:
    lines = page.decode().splitlines()
    return next(line for line in lines if line.startswith("tritonobs_qps_limit{")).split()[-1]


def test_scheduled_limit_begins_and_ends_by_itself(fleet_file, clock) -> None:
    """To the second, without a reload."""
    plan, page = load_served(fleet_file(text=FLEET, notify="serve")).plan, ObjectivePage()
    seen = []
    for seconds in (-1, 0, 86_399, 86_400):
        clock["now"] = START + timedelta(seconds=seconds)
        seen.append(_limit(page.text(plan)))
    assert seen == ["8.0", "80.0", "80.0", "8.0"]


def test_page_is_made_once_for_as_long_as_it_holds(fleet_file, clock) -> None:
    """A scrape of a large fleet costs a comparison; another plan is another page."""
    path = fleet_file(text=FLEET, notify="serve")
    plan, page = load_served(path).plan, ObjectivePage()
    assert page.text(plan) is page.text(plan)
    assert page.text(load_served(path).plan) == page.text(plan)


def test_rules_file_leaves_nothing_to_serve(fleet_file, clock) -> None:
    """The same series twice would be an error."""
    plan = load_served(fleet_file(text=FLEET, notify="rules")).plan
    assert b"tritonobs_qps_limit" not in ObjectivePage().text(plan)
