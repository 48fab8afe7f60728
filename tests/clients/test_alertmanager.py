"""Alertmanager's API as typed answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.errors import BadAnswer

if TYPE_CHECKING:
    from conftest import Wire


def test_alerts_tell_who_silenced_them(wire: Wire) -> None:
    """An alert nobody was told about says why."""
    wire.says(
        "/api/v2/alerts",
        [
            {
                "fingerprint": "f",
                "status": {"state": "suppressed", "silencedBy": ["s1"], "inhibitedBy": []},
                "startsAt": "a",
                "endsAt": "b",
                "labels": {"alertname": "A"},
                "annotations": {"summary": "x"},
                "receivers": [{"name": "oncall"}],
            }
        ],
    )

    (alert,) = AlertmanagerClient(wire.url).alerts()

    assert (alert.state, alert.silenced_by) == ("suppressed", ("s1",))


@pytest.mark.parametrize(
    ("matcher", "text"),
    [
        ({"name": "m", "value": "a", "isRegex": False, "isEqual": True}, 'm="a"'),
        ({"name": "m", "value": "a", "isRegex": False, "isEqual": False}, 'm!="a"'),
        ({"name": "m", "value": "a.*", "isRegex": True, "isEqual": True}, 'm=~"a.*"'),
        ({"name": "m", "value": 'a"\\', "isRegex": True, "isEqual": False}, 'm!~"a\\"\\\\"'),
        ({"name": "m", "value": "a", "isRegex": False}, 'm="a"'),
    ],
)
def test_matchers_read_as_amtool_writes_them(wire: Wire, matcher: dict[str, object], text: str) -> None:
    """A silence can be copied into amtool."""
    silence = {
        "id": "s1",
        "status": {"state": "active"},
        "endsAt": "t",
        "createdBy": "me",
        "comment": "c",
        "matchers": [matcher],
    }
    wire.says("/api/v2/silences", [silence])

    (found,) = AlertmanagerClient(wire.url).silences()

    assert found.matchers == (text,)


def test_its_start_tells_one_run_from_the_next(wire: Wire) -> None:
    """In Alertmanager's own text; `uptime` is its name for when it was started."""
    wire.says(
        "/api/v2/status",
        {"versionInfo": {"version": "0.25.0"}, "uptime": "t", "config": {"original": "route: {}"}},
    )

    assert AlertmanagerClient(wire.url).up_since() == "t"


def test_another_server_on_that_port_is_a_bad_answer(wire: Wire) -> None:
    """JSON of another shape never becomes a traceback."""
    wire.says("/api/v2/alerts", {"data": []})

    with pytest.raises(BadAnswer, match="not as documented"):
        AlertmanagerClient(wire.url).alerts()
