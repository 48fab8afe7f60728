"""The command as a process: over its standard streams and over HTTP, with the SDK's client and attacks."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from support.agents import HEADERS, HELLO, Answered, Served
from support.evil import Evil, EvilServer
from tritonobs import assets

SECRET = "hunter2-hunter2"


def _called(where, tool, arguments, **client):
    async def call():
        async with Client(where, **client) as agent:
            await agent.list_tools()
            return Answered(await agent.call_tool(tool, arguments))

    return asyncio.run(call())


@pytest.fixture(name="served", scope="module")
def _served(tmp_path_factory):
    """A server that refuses requests: each leaves it as it was."""
    fleet = tmp_path_factory.mktemp("served") / "fleet.yaml"
    shutil.copy(assets.folder("examples") / "fleet.yaml", fleet)
    with Served(fleet) as served:
        yield served


@pytest.fixture(name="auth")
def _auth(fleet_file):
    """The fleet file with a bearer token for callers."""
    secret = fleet_file.parent / "token"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    text = fleet_file.read_text().replace("notify:\n", "notify:\n  auth: {token_file: token}\n", 1)
    fleet_file.write_text(text)
    return fleet_file


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_it_answers_over_its_standard_streams(fleet_file, mode):
    """As an editor starts it."""
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "tritonobs", "mcp", str(fleet_file)], env=dict(os.environ)
    )

    found = _called(program, "limits", {}, mode=mode)

    assert found.answer["data"][0]["model"] == "inspect"


def test_it_ends_with_its_client(fleet_file):
    """Also while a command runs for it: no process stays behind."""
    with EvilServer(Evil.SILENT) as server:
        words = ["mcp", str(fleet_file), "--prometheus", server.url]
        process = subprocess.Popen(
            [sys.executable, "-m", "tritonobs", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        call = {"name": "stages", "arguments": {}}
        for message in (
            HELLO,
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        parent = psutil.Process(process.pid)
        deadline = time.monotonic() + 30
        while not (started := parent.children(recursive=True)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.stdin.close()

        assert process.wait(20) == 0
        gone, alive = psutil.wait_procs(started, timeout=10)
        process.stdout.close()

    assert (len(gone), alive) == (len(started), [])


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_it_answers_over_http(fleet_file, mode):
    """With a session of the older protocol and without one."""
    with Served(fleet_file) as served:
        found = _called(served.url, "limits", {}, mode=mode)

    assert found.answer["data"][0]["model"] == "inspect"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_that_is_cancelled_ends_its_command(fleet_file, mode):
    """Over HTTP the server lives on, and nothing of the call does; it answers the next one."""
    with EvilServer(Evil.SILENT) as silent, Served(fleet_file, "--prometheus", silent.url) as served:
        program = psutil.Process(served.process.pid)

        async def cancelled():
            async with Client(served.url, mode=mode) as agent:
                await agent.list_tools()
                call = asyncio.create_task(agent.call_tool("stages", {}))
                while not program.children():  # noqa: ASYNC110 (a process has no event)
                    await asyncio.sleep(0.05)
                call.cancel()
                await asyncio.wait([call])
                deadline = time.monotonic() + 10
                while program.children() and time.monotonic() < deadline:  # noqa: ASYNC110 (a process has no event)
                    await asyncio.sleep(0.05)
                left = program.children()
                return left, Answered(await agent.call_tool("limits", {}))

        left, found = asyncio.run(cancelled())

    assert left == []
    assert found.answer["data"]


def test_credentials_are_those_of_serve(auth):
    """None, wrong ones and one in the address are refused; no log has the secret."""
    import httpx2  # noqa: PLC0415 (comes with the SDK)

    with Served(auth) as served:
        assert served.post(HELLO)[0] == 401
        assert served.post(HELLO, Authorization="Bearer wrong")[0] == 401
        assert served.post(HELLO, path=f"/mcp?token={SECRET}")[0] == 400
        assert served.post(HELLO, Authorization=f"Bearer {SECRET}")[0] == 200

        async def call():
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {SECRET}"}, timeout=60) as known,
                Client(streamable_http_client(served.url, http_client=known)) as agent,
            ):
                await agent.list_tools()
                return Answered(await agent.call_tool("limits", {}))

        assert not asyncio.run(call()).failed

    assert SECRET not in served.log.read_text()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Origin": "http://evil.example"}, 403, id="a page of another site"),
        pytest.param({"Origin": "http://127.0.0.1:3000"}, 403, id="a page of this machine"),
        pytest.param({"Origin": "null"}, 403, id="a page without an origin"),
        pytest.param({"Host": "evil.example"}, 421, id="DNS rebinding"),
        pytest.param({"Host": "127.0.0.1.evil.example:9920"}, 421, id="a name like ours"),
        pytest.param({"Content_Type": "text/plain"}, 400, id="a form of a page"),
        pytest.param({"Origin": "http://evil.example", "Host": "evil.example"}, 421, id="both"),
        pytest.param({"Origin": "https://127.0.0.1:{port}"}, 403, id="our name with another scheme"),
        pytest.param({"Origin": "http://127.0.0.1:{port}"}, 200, id="a program that says where it asks"),
        pytest.param({}, 200, id="a program"),
    ],
)
def test_browsers_are_refused(served, headers, status):
    """By each header that shows one; a program is answered."""
    sent = {name: value.format(port=served.port) for name, value in headers.items()}
    assert served.post(HELLO, **sent)[0] == status


def test_odd_requests_are_refused(served):
    """Other methods and paths, no JSON, too much of it; it answers afterwards."""
    assert served.post(b"", method="GET")[0] == 405
    assert served.post(HELLO, path="/")[0] == 404
    assert served.post(b"{", Accept=HEADERS["Accept"])[0] == 400
    assert served.post(b"[" * 60_000)[0] == 400
    assert served.post(b"x" * 100_000)[0] == 413
    assert served.post(HELLO)[0] == 200
    assert "Traceback" not in served.log.read_text()


def test_other_machines_need_credentials(fleet_file):
    """An address that is not loopback is refused without notify.auth."""
    words = ["mcp", str(fleet_file), "--transport", "http", "--host", "0.0.0.0", "--port", "0"]  # noqa: S104 (what must be refused without a token)
    done = subprocess.run(
        [sys.executable, "-m", "tritonobs", *words], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 3
    assert "add notify.auth to the fleet file" in done.stderr


def test_mistakes_of_the_file_are_said_at_the_start(fleet_file):
    """With file and line, before any client is there."""
    fleet_file.write_text("fleet: x\nmodles: {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "tritonobs", "mcp", str(fleet_file)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 2
    assert "fleet.yaml:2" in done.stderr
    assert done.stdout == ""


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"mcp", "mcp_types"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["tritonobs", "mcp", *sys.argv[1:]]
from tritonobs.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--help",), 0, "Example: tritonobs mcp fleet.yaml"),
        ((), 3, "this command needs mcp: pip install 'tritonobs[mcp]'"),
    ],
    ids=["help", "use"],
)
def test_without_the_sdk_it_says_what_it_lacks(tmp_path, words, code, said):
    """Its help needs nothing."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == code
    assert said in done.stdout + done.stderr
