"""Programs of others: the protocol's inspector and conformance tests, HolmesGPT with our toolset file.

`tools/setup_tests.sh` installs the first two where there is npm.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.agents import Served
from tritonobs.extensions.mcp.tools import OFFERED, is_there
from tritonobs.programs import tools_folder

MODULES = tools_folder() / "mcp" / "node_modules"
NODE = MODULES / "node" / "bin" / "node"
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
HOLMES = tools_folder() / "holmes" / "bin" / "python"
TOOLSET = Path(__file__).parents[2] / "examples" / "holmesgpt" / "toolset.yaml"

npm = pytest.mark.skipif(
    not (NODE.exists() and INSPECTOR.exists() and CONFORMANCE.exists()),
    reason="the inspector of the protocol is not installed; with npm: tools/setup_tests.sh",
)
holmes = pytest.mark.skipif(
    not HOLMES.exists(),
    reason=f"HolmesGPT (800 MB) is not installed; python3 -m venv {HOLMES.parents[1]} and "
    f"{HOLMES.parent}/pip install holmesgpt",
)


def _inspected(*words):
    # Of its own it gives a server 15 s to start, which a busy machine may need.
    patient = ("--connect-timeout", "100000")
    done = subprocess.run(
        [NODE, INSPECTOR, "--cli", *words, *patient], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@npm
def test_the_inspector_reads_everything_over_both_transports(fleet_file):
    """Tools with their schemas, an answer that is structured, resources, templates and prompts."""
    stdio = (sys.executable, "-m", "tritonobs", "mcp", str(fleet_file))
    with Served(fleet_file) as served:
        for where in (stdio, (served.url, "--transport", "http")):
            tools = _inspected(*where, "--method", "tools/list")["tools"]
            asked = ("--method", "tools/call", "--tool-name", "runbook", "--tool-arg", "name=slow_stage")
            page = _inspected(*where, *asked)
            fleet = _inspected(*where, "--method", "resources/read", "--uri", "tritonobs://fleet")
            prompts = _inspected(*where, "--method", "prompts/list")["prompts"]

            assert {one["name"] for one in tools} == {key for key in OFFERED if is_there(OFFERED[key].needs)}
            assert all(one["outputSchema"]["properties"]["data"] for one in tools)
            assert page["structuredContent"]["form"] == "runbook/1"
            assert "qps_limit: 8" in fleet["contents"][0]["text"]
            assert [one["name"] for one in prompts] == ["on_call", "before_a_rollout", "post_mortem"]


# The rest asks for tools, resources and prompts that only the example server of the specification has.
SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]


@npm
def test_the_conformance_tests_pass(fleet_file):
    """All that ask nothing of what a server offers."""
    with Served(fleet_file) as served:
        for scenario in SCENARIOS:
            words = (NODE, CONFORMANCE, "server", "--url", served.url, "--scenario", scenario)
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, f"{scenario}: {done.stdout}{done.stderr}"


HOLMES_ASKS = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from holmes.core.toolset_manager import ToolsetManager
(toolset,) = ToolsetManager(custom_toolsets=[Path(sys.argv[1])]).load_custom_toolsets([])
toolset.check_prerequisites()
print("answer", json.dumps([toolset.status.value, toolset.error, [one.name for one in toolset.tools]]))
(limits,) = [one for one in toolset.tools if one.name == "limits"]
context = SimpleNamespace(request_context=None, user_approved=False, session_approved_prefixes=None)
said = limits._invoke({}, context)
print("answer", json.dumps([said.status.value, str(said.data or said.error)]))
"""


@holmes
def test_holmesgpt_starts_the_server_and_gets_an_answer(fleet_file, tmp_path):
    """By its own code: the file is valid, and the tools are those of the server."""
    held = yaml.safe_load(TOOLSET.read_text())
    config = held["mcp_servers"]["tritonobs"]["config"]
    config |= {"command": sys.executable, "args": ["-m", "tritonobs", "mcp", str(fleet_file)]}
    path = tmp_path / "toolset.yaml"
    path.write_text(yaml.safe_dump(held))

    done = subprocess.run(
        [HOLMES, "-c", HOLMES_ASKS, path], capture_output=True, text=True, check=False, timeout=240
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("answer ")]

    assert len(lines) == 2, done.stdout + done.stderr
    status, error, tools = json.loads(lines[0].removeprefix("answer "))
    assert (status, error) == ("enabled", None)
    assert set(tools) == {key for key in OFFERED if is_there(OFFERED[key].needs)}
    status, data = json.loads(lines[1].removeprefix("answer "))
    assert status == "success"
    assert "inspect" in data


def test_the_toolset_file_has_the_fields_that_holmesgpt_reads():
    """Those of 0.45, which refuses any other; the command is the one that the page names."""
    (server,) = yaml.safe_load(TOOLSET.read_text())["mcp_servers"].values()

    assert set(server) <= {"description", "config", "llm_instructions", "enabled", "icon_url"}
    assert server["config"] == {
        "mode": "stdio",
        "command": "tritonobs",
        "args": ["mcp", "/etc/tritonobs/fleet.yaml"],
    }
