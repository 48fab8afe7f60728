"""An incident is one page and its end: starts and messages, counted as bench/incidents.py does."""

from dataclasses import replace

import pytest

from support.incidents.every import INCIDENTS
from support.incidents.incident import lived_through

BY_NAME = {one.name: one for one in INCIDENTS}


@pytest.mark.parametrize(
    ("name", "starts", "messages", "seconds"),
    [
        ("server-killed", 1, 2, 75),
        ("overload-a-little", 2, 2, 240),
        ("model-unloaded", 1, 2, 150),
        ("worker-hangs", 1, 2, 120),
        ("serve-restarted", 0, 0, None),
    ],
)
def test_an_incident_is_told_once_and_its_end_once(engine, name, starts, messages, seconds):
    """At most so many alerts and messages, the first one in time, nothing new after the end."""
    result = lived_through(engine, BY_NAME[name])

    assert result.wrong == ()
    assert (len(result.starts) <= starts, len(result.messages)) == (True, messages)
    assert (result.first is None) == (seconds is None)
    assert result.first is None or result.first <= seconds


def test_what_nobody_hears_of_and_what_comes_too_late_is_found(engine):
    """An incident that is said to need another page, and to be over before its page comes."""
    killed = BY_NAME["server-killed"]

    result = lived_through(engine, replace(killed, needs=("TritonModelUnloaded",), ends=killed.begins - 60))

    assert result.wrong == ("1 new after the end", "nothing said")


def test_every_incident_has_a_name_of_its_own():
    """There are forty at least."""
    assert len(BY_NAME) == len(INCIDENTS) >= 40
