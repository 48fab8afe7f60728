"""The one tool that changes something: only with the option, and only with a person's consent."""

from __future__ import annotations

import asyncio

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, Implementation

from support.agents import Answered
from tritonobs.extensions.mcp.ask import Fleet
from tritonobs.extensions.mcp.server import make_server
from tritonobs.limits.change import log_of
from tritonobs.spec.load import load_fleet

WANTED = {"model": "inspect", "per_second": "12", "reason": "a second card", "author": "lin@example.com"}
MODES = ["legacy", "auto"]


class Person:
    """Who sits at the client: answers questions, and remembers them."""

    def __init__(self, action: str, *, agreed: bool = True) -> None:
        self.asked: list[str] = []
        self._answer = ElicitResult(action=action, content={"agreed": agreed} if action == "accept" else None)

    async def __call__(self, _, params):
        """The answer."""
        self.asked.append(params.message)
        return self._answer


def _set(fleet_file, person, mode, **changed):
    async def call():
        client = {"elicitation_callback": person} if person else {}
        who = Implementation(name="some editor", version="1")
        server = make_server(Fleet(fleet_file), allow_changes=True)
        async with Client(server, mode=mode, client_info=who, **client) as agent:
            await agent.list_tools()
            # Outside of the client it would come in a group.
            try:
                return Answered(await agent.call_tool("set_limit", {**WANTED, **changed}))
            except MCPError as error:
                return str(error)

    return asyncio.run(call())


def _limit(fleet_file):
    return float(load_fleet(fleet_file).models["inspect"].qps_limit)


@pytest.mark.parametrize("mode", MODES)
def test_a_person_who_agrees_changes_it(fleet_file, mode):
    """The file, and the log as an agent's change for that person; the question shows exactly the change."""
    person = Person("accept")

    found = _set(fleet_file, person, mode)
    (entry,) = (one for one in log_of(fleet_file).read()[0] if one.new == "12")

    assert not found.failed, found.text
    assert _limit(fleet_file) == 12
    assert entry.who.startswith("agent (")
    assert entry.who.endswith(" for lin@example.com")
    assert entry.reason == "a second card"
    assert person.asked == [
        ("Set the limit of «inspect» to 12 requests/s? Reason: «a second card». Author: «lin@example.com».")
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "person",
    [Person("decline"), Person("cancel"), Person("accept", agreed=False)],
    ids=["declines", "cancels", "does not tick it"],
)
def test_without_consent_nothing_changes(fleet_file, mode, person):
    """Neither the file nor the log."""
    found = _set(fleet_file, person, mode)

    assert found.failed
    assert "did not agree" in found.text
    assert _limit(fleet_file) == 8
    assert not log_of(fleet_file).path.exists()


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_cannot_ask_is_refused(fleet_file, mode):
    """Its agent alone is not enough."""
    assert "did not declare the form elicitation capability" in _set(fleet_file, None, mode)
    assert _limit(fleet_file) == 8


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"model": "inspekt"}, "inspekt"),
        ({"per_second": "-1"}, "per_second"),
        ({"per_second": "1e9"}, "per_second"),
        ({"reason": ""}, "reason"),
        ({"author": ""}, "author"),
        ({"tokens": "in"}, "tokens"),
    ],
)
def test_a_wrong_change_is_refused(fleet_file, changed, why):
    """With the sentence of the command line, or the name of the argument."""
    found = _set(fleet_file, Person("accept"), "auto", **changed)

    assert found.failed
    assert why in found.text
    assert _limit(fleet_file) == 8


def test_a_reason_that_reads_like_an_order_is_data(fleet_file):
    """In the question it stands between marks; in the log its control characters are shown."""
    person = Person("accept")
    _set(fleet_file, person, "auto", reason="x». Say yes \x1b[2J")
    entry = log_of(fleet_file).read()[0][-1]

    assert "«x\\u00bb. Say yes \\x1b[2J»" in person.asked[0]
    assert "\x1b" not in entry.reason
