"""Agents at the running stack: every tool over both transports, and the same answer as the command line's."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from pydantic import TypeAdapter

from support.agents import Answered, Served
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.mcp import schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.extensions.lab.stack.local import Running

pytestmark = pytest.mark.e2e

SECONDS, QPS, SETTLE_SECONDS = 15.0, 4.0, 8.0
MOST_BYTES = 4096
LIMIT = {"model": "inspect", "qps": 6}
CALLS: dict[str, dict[str, Any]] = {
    "triage": {"since": "1m"},
    "stages": {"model": "inspect"},
    "models": {},
    "slow_requests": {"model": "inspect"},
    "alerts": {},
    "incidents": {},
    "limits": {},
    "limit_history": {"model": "inspect"},
    "backtest": {**LIMIT, "over": "1h"},
    "runbook": {"name": "TritonQpsAboveLimit"},
    "explain_series": {"name": "nv_inference_queue_duration_us"},
    "query": {"expression": "sum by (model) (rate(nv_inference_request_success[1m]))", "over": "5m"},
}
"""Every tool, as an agent would call it."""


@pytest.fixture(name="busy", scope="module")
def _busy(stack: Running) -> Running:
    """The stack after some traffic, and after a change of a limit."""
    _run("limits", "set", str(stack.fleet_file), "9", "--model=inspect", "--reason=a test", "--who=lin")
    # `serve` makes it with the first incident.
    (stack.fleet_file.parent / "incidents").mkdir(exist_ok=True)
    plan = LoadPlan(
        urls=(stack.plan.replicas[0].http_url,),
        segments=(Segment(qps=QPS, seconds=SECONDS),),
        mix=parse_mix("1280x720"),
    )
    assert run_load(plan).sent == QPS * SECONDS
    time.sleep(SETTLE_SECONDS)
    return stack


def _run(*words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tritonobs", *words, "--format=json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout, (words, done.stderr)
    return json.loads(done.stdout)


@contextmanager
def _reached(stack: Running, transport: str) -> Iterator[Any]:
    """What the SDK's client connects to."""
    if transport == "stdio":
        yield StdioServerParameters(
            command=sys.executable,
            args=["-m", "tritonobs", "mcp", str(stack.fleet_file)],
            env=dict(os.environ),
        )
        return
    with Served(stack.fleet_file) as served:
        yield served.url


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_tool_answers_as_its_schema_says(busy: Running, transport: str) -> None:
    """In one session: each answer is valid, small, read now, and in both places where clients look."""

    async def calls(where: Any) -> tuple[dict[str, Any], dict[str, Answered]]:
        async with Client(where, read_timeout_seconds=120) as agent:
            listed = {one.name: one.output_schema for one in (await agent.list_tools()).tools}
            return listed, {
                name: Answered(await agent.call_tool(name, arguments)) for name, arguments in CALLS.items()
            }

    with _reached(busy, transport) as where:
        listed, answers = asyncio.run(calls(where))

    assert set(listed) == set(CALLS)
    assert {name: found.text for name, found in answers.items() if found.failed} == {}
    for name, found in answers.items():
        jsonschema.validate(found.answer, listed[name])
        assert json.loads(found.text) == found.answer, name
        assert found.size <= MOST_BYTES, name
        assert found.answer["form"] == f"{name}/1"
    assert "inspect" in {one["model"] for one in answers["models"].answer["data"]["rows"]}
    assert answers["limit_history"].answer["data"][0]["reason"] == "a test"
    assert answers["query"].answer["data"]["linted"]


def test_ten_different_calls_at_once_are_all_answered(busy: Running) -> None:
    """Over HTTP, by ten clients."""
    ten = [*CALLS.items()][:10]

    async def one(url: str, name: str, arguments: dict[str, Any]) -> Answered:
        async with Client(url, read_timeout_seconds=120) as agent:
            await agent.list_tools()
            return Answered(await agent.call_tool(name, arguments))

    async def all_of_them(url: str) -> list[Answered]:
        return list(await asyncio.gather(*(one(url, *call) for call in ten)))

    with Served(busy.fleet_file) as served:
        found = asyncio.run(all_of_them(served.url))

    assert [(name, one.text) for (name, _), one in zip(ten, found, strict=True) if one.failed] == []
    assert [one.answer["form"] for one in found] == [f"{name}/1" for name, _ in ten]


def _promised(busy: Running) -> dict[str, tuple[tuple[str, ...], Any]]:
    """For each tool that runs a command: the words of the command, and the schema of the tool's data."""
    fleet = str(busy.fleet_file)
    prometheus = f"--prometheus={busy.plan.addresses.prometheus_url}"
    receiver = f"--receiver={busy.plan.traces.receiver_url}"
    backtest = ("--model=inspect", "--qps=6", "--over=1h")
    return {
        "triage": (("triage", fleet, "--since=1m"), schemas.Verdict),
        "stages": (("stages", prometheus, "--model=inspect"), tuple[schemas.StageTable, ...]),
        "models": (("top", fleet, prometheus, "--once"), schemas.ModelsView),
        "slow_requests": (
            ("traces", "slow", "--model=inspect", receiver),
            tuple[schemas.SlowRequest, ...],
        ),
        "incidents": (("incidents", "list", f"--fleet={fleet}"), tuple[schemas.Incident, ...]),
        "limits": (("limits", "list", fleet), tuple[schemas.Limit, ...]),
        "limit_history": (
            ("limits", "history", fleet, "--model=inspect"),
            tuple[schemas.LimitChange, ...],
        ),
        "backtest": (("limits", "backtest", prometheus, *backtest), schemas.Backtest),
        "explain_series": (("lint", "--catalogue"), schemas.Catalogue),
    }


STEADY = {"limits", "limit_history"}
"""Tools whose data is the same at the next look."""


def test_the_command_line_prints_what_the_tools_promise(busy: Running) -> None:
    """Each command's `--format json` has the fields of its tool's schema and no other, with their types."""

    async def steady() -> dict[str, Any]:
        where = StdioServerParameters(
            command=sys.executable,
            args=["-m", "tritonobs", "mcp", str(busy.fleet_file)],
            env=dict(os.environ),
        )
        async with Client(where, read_timeout_seconds=120) as agent:
            await agent.list_tools()
            return {
                name: Answered(await agent.call_tool(name, {**CALLS[name], "max_bytes": 65_536})).answer
                for name in sorted(STEADY)
            }

    printed = {}
    for name, (words, schema) in _promised(busy).items():
        value = _run(*words)
        printed[name] = TypeAdapter(schema).validate_python(value, extra="forbid")
    answers = asyncio.run(steady())

    for name, answer in answers.items():
        promised = _promised(busy)[name][1]
        told = TypeAdapter(promised).validate_python(answer["data"])
        # The log of limits begins with the latest change.
        expected = printed[name][::-1] if name == "limit_history" else printed[name]
        assert told == expected, name
