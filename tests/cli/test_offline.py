"""`validate`, `build` and `schema` as a user meets them: what is printed where, and the exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run


def _spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_validate_says_on_stdout_that_all_is_well(run: Run, fleet_file: Path) -> None:
    """It is the result: an output that cannot take it is an error."""
    done = run("validate", fleet_file.name)

    assert (done.returncode, done.stdout, done.stderr) == (0, "fleet.yaml: valid\n", "")


@pytest.mark.parametrize(
    ("webhook", "words"),
    [
        ("https://open.feishu.cn/open-apis/bot/v2/hook/abc", ""),
        ("https://oapi.dingtalk.com/robot/send?access_token=abc", "robot ops: the webhook is not Feishu's"),
    ],
)
def test_validate_warns_of_a_webhook_of_another_chat(
    run: Run, fleet_file: Path, webhook: str, words: str
) -> None:
    """Where its file is on this machine; the address is not quoted."""
    notify = "notify:\n  feishu: {ops: {webhook_file: hook}}\n"
    fleet_file.write_text(fleet_file.read_text().partition("notify:")[0] + notify)
    hook = fleet_file.parent / "hook"
    absent = run("validate", fleet_file.name)
    hook.touch(mode=0o600)
    hook.write_text(webhook)

    done = run("validate", fleet_file.name)

    assert absent.stdout == "fleet.yaml: valid\n"
    assert done.returncode == 0
    assert words in done.stdout
    assert ("notify.feishu.ops: " in done.stdout) == bool(words)
    assert "abc" not in done.stdout


def test_validate_warns_of_every_secret_at_once(run: Run, fleet_file: Path) -> None:
    """Webhook, signing secret and the token: three runs would find one each."""
    notify = (
        "notify:\n  auth: {token_file: token}\n  dingtalk: {ops: {webhook_file: hook, secret_file: sign}}\n"
    )
    fleet_file.write_text(fleet_file.read_text().partition("notify:")[0] + notify)
    for name in ("hook", "sign", "token"):
        (fleet_file.parent / name).write_text("x")
        (fleet_file.parent / name).chmod(0o644)

    done = run("validate", fleet_file.name)

    assert done.returncode == 0
    assert [line.partition(": ")[2].partition(": every")[0] for line in done.stdout.splitlines()] == [
        "notify.auth",
        "notify.dingtalk.ops: robot ops: webhook",
        "notify.dingtalk.ops: robot ops: signing secret",
    ]


def test_validate_refuses_a_log_of_limits_that_is_the_fleet_file(run: Run, fleet_file: Path) -> None:
    """As `limits` and `serve` do, which would come later."""
    text = fleet_file.read_text()
    fleet_file.write_text(f"{text}\nlimits_log: ./{fleet_file.name}\n")

    done = run("validate", fleet_file.name)

    line = text.count("\n") + 2
    said = f"'./{fleet_file.name}' is the fleet file itself; name another file"
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [f"{fleet_file.name}:{line}:13: limits_log: {said}"],
    )


def _targets(run: Run, fleet_file: Path, text: str) -> tuple[int, list[str]]:
    """The exit status of `validate`, and its findings, with this file of targets."""
    fleet_file.write_text("fleet: a\nreplicas: {file: {path: t.json}}\nmodels: {m: {}}\n")
    (fleet_file.parent / "t.json").write_text(text)
    done = run("validate", fleet_file.name)
    before = f"fleet.yaml:2:25: replicas.file.path: {fleet_file.parent / 't.json'}"
    return done.returncode, [line.removeprefix(before) for line in done.stdout.splitlines()]


def test_validate_refuses_a_file_of_targets_with_every_mistake(run: Run, fleet_file: Path) -> None:
    """Where it is on this machine, at its place in the fleet file, with the number of the group."""
    groups = [
        {"targets": ["a", "b:1"]},
        {"targets": ["b:x"], "labels": {"__scheme__": "ftp"}},
        {"targets": "b:1"},
        {"targets": ["c:1"], "labels": {"pool": 5}},
    ]

    assert _targets(run, fleet_file, json.dumps(groups)) == (
        1,
        [
            ": group 1: 'a' is not host:port",
            ": group 2: 'ftp' is not a scheme; allowed is http or https",
            ": group 2: 'b:x' is not host:port",
            (
                ': group 3 has no list of targets; allowed is one like {"targets": ["host:8002"], "labels": '
                '{"pool": "a"}}'
            ),
            ": group 4: allowed is text in pool; write quotes",
        ],
    )
    assert _targets(run, fleet_file, "{") == (1, [" is not JSON or YAML"])
    (fleet_file.parent / "t.json").unlink()
    assert run("validate", fleet_file.name).stdout == "fleet.yaml: valid\n"


def test_validate_names_labels_of_targets_that_are_replaced(run: Run, fleet_file: Path) -> None:
    """A warning: the names of servers are their targets, and the cluster is that of the fleet file."""
    groups = [
        {"targets": ["a:1", "b:1"], "labels": {"replica": "gpu-01", "cluster": "west", "pool": "x"}},
        {"targets": ["c:1"], "labels": {"replica": "c:1", "cluster": "default", "job": "triton"}},
        {"targets": ["d:1"]},
    ]

    assert _targets(run, fleet_file, json.dumps(groups)) == (
        0,
        [
            ": label replica of group 1 is replaced by the target [warning]",
            ': label cluster of group 1 is replaced by "default" [warning]',
        ],
    )
    assert _targets(run, fleet_file, json.dumps(groups[1:])) == (0, ["fleet.yaml: valid"])


@pytest.mark.parametrize(
    ("notify", "said"),
    [
        pytest.param("", True, id="none"),
        pytest.param("notify: {dead_man: {url: http://dead}}", True, id="a dead man's switch only"),
        pytest.param("notify: {webhook: {pager: {url: http://pager}}}", False, id="one"),
    ],
)
def test_build_says_that_no_alert_is_sent(run: Run, fleet_file: Path, notify: str, *, said: bool) -> None:
    """A remark: Nightingale or another Alertmanager may send them."""
    fleet_file.write_text(
        f'fleet: a\nreplicas: [{{name: a, url: "http://a:8000"}}]\nmodels: {{m: {{}}}}\n{notify}\n'
    )

    done = run("build", fleet_file.name, "-o", "out")

    remark = "fleet.yaml: notify names no receiver, so alertmanager.yml as built sends no alert"
    assert (done.returncode, remark in done.stderr.splitlines()) == (0, said)


def test_validate_warns_of_parts_elsewhere_that_would_call_themselves(run: Run, fleet_file: Path) -> None:
    """Prometheus scrapes serve, and Alertmanager calls it: on another machine, loopback is another serve."""

    def found(addresses: str, more: str = "") -> list[str]:
        fleet_file.write_text(
            f'fleet: a\nreplicas: [{{name: a, url: "http://a:8000"}}]\nmodels: {{m: {{}}}}\n'
            f"addresses: {{{addresses}}}\n{more}\n"
        )
        return run("validate", fleet_file.name).stdout.splitlines()

    remote = "prometheus: http://prom.example.com:9090"
    assert found(remote) == [
        (
            'fleet.yaml:4:1: addresses: serve is left out, so prometheus at "http://prom.example.com:9090" '
            "would call http://127.0.0.1:9900 (write the address at which it reaches tritonobs serve) "
            "[warning]"
        )
    ]
    assert len(found(f"{remote}, alertmanager: http://am.example.com")) == 2
    valid = ["fleet.yaml: valid"]
    assert found(f"{remote}, serve: http://s.example.com:9900") == valid
    assert found("prometheus: http://localhost:9091, alertmanager: http://127.0.0.2:9093") == valid


def test_build_names_rules_of_an_earlier_build(run: Run, fleet_file: Path) -> None:
    """A pattern would load them beside the new ones; rules of other people are not ours to judge."""
    _spoil(fleet_file, "fleet:", "limits_source: rules\nfleet:")
    first = run("build", fleet_file.name, "-o", "out")
    _spoil(fleet_file, "limits_source: rules\n", "")
    (fleet_file.parent / "out/prometheus/rules/mine.rules.yml").write_text("groups: []\n")

    second = run("build", fleet_file.name, "-o", "out")

    assert "earlier build" not in first.stderr
    assert [line for line in second.stderr.splitlines() if "earlier build" in line] == [
        (
            "out/prometheus/rules/objectives.rules.yml is left over from an earlier build: "
            "delete it here and wherever you copied it"
        )
    ]
    assert (second.returncode, "objectives" in second.stdout) == (0, False)


def test_build_explains_a_promtool_without_the_discovery_of_kubernetes(run: Run, fleet_file: Path) -> None:
    """That of Debian: the file is right, and its Prometheus could not read it either."""
    tools = fleet_file.parent / "bin"
    tools.mkdir()
    said = "line 20: field kubernetes_sd_configs not found in type config.ScrapeConfig"
    (tools / "promtool").write_text(f"#!/bin/sh\necho '{said}'\nexit 1\n")
    (tools / "promtool").chmod(0o755)

    done = run("build", fleet_file.name, "-o", "out", env={"PATH": f"{tools}:/bin:/usr/bin"})

    assert done.returncode == 1
    assert f"{said}\nThis promtool was built without that way to find servers" in done.stderr


def test_validate_tells_fields_and_meaning_in_one_run(run: Run, fleet_file: Path) -> None:
    """A wrong value does not hide that another place makes no sense."""
    _spoil(fleet_file, "qps_limit: 8", "qps_limit: eight")
    _spoil(fleet_file, "threshold: 500ms", "threshold: 450ms")

    done = run("validate", fleet_file.name)

    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        (
            "fleet.yaml:7:42: defaults.slos.latency.threshold: "
            "450ms is not a latency bound of inspect, preprocess and detector; "
            "the nearest are 400ms and 500ms"
        ),
        (
            'fleet.yaml:12:16: models.inspect.qps_limit: found "eight"; '
            "allowed is a number from 0.001 to 1000000 (requests per second), or unlimited"
        ),
    ]
    assert done.stderr == "fleet.yaml: 2 findings\n"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param([], 0, id="a warning alone is no failure"),
        pytest.param(["--fail-on", "warning"], 1, id="unless asked for"),
    ],
)
def test_validate_tells_warnings_apart(run: Run, fleet_file: Path, options: list[str], code: int) -> None:
    """A warning says that it is one."""
    _spoil(fleet_file, "qps_limit: 8", "qps_limit: 80")

    done = run("validate", fleet_file.name, *options)

    assert done.returncode == code
    assert done.stdout == (
        "fleet.yaml:12:16: models.inspect.qps_limit: 80 is more than the pipeline's members allow: "
        "capped by detector (40 / 1) (40 is in force) [warning]\n"
    )


def test_validate_speaks_json(run: Run, fleet_file: Path) -> None:
    """One value a finding, place and all."""
    _spoil(fleet_file, "qps_limit: 8", "qps_limits: 8")

    done = run("validate", fleet_file.name, "--format", "json")
    (finding,) = json.loads(done.stdout)

    assert done.returncode == 1
    assert (finding["file"], finding["line"], finding["column"]) == ("fleet.yaml", 12, 5)
    assert (finding["path"], finding["severity"]) == ("models.inspect.qps_limits", "error")
    assert finding["hint"] == "did you mean qps_limit?"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["validate"], "Missing argument 'FLEET'", id="no file"),
        pytest.param(["validate", "absent.yaml"], "'absent.yaml' does not exist", id="an absent file"),
        pytest.param(["build", "fleet.yaml"], "Missing option '-o'", id="no folder"),
        pytest.param(
            ["validate", "fleet.yaml", "--format", "xml"], "'xml' is not one of", id="an unknown format"
        ),
    ],
)
def test_wrong_usage_exits_2(run: Run, fleet_file: Path, arguments: list[str], said: str) -> None:
    """The shell's own convention, and a sentence."""
    assert fleet_file.exists()
    done = run(*arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_build_writes_what_the_checkers_accept(run: Run, fleet_file: Path) -> None:
    """Files on stdout, checks on stderr; a second build changes nothing and says so."""
    first = run("build", fleet_file.name, "-o", "out")
    second = run("build", fleet_file.name, "-o", "out")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "promtool accepts it" in first.stderr
    assert "amtool accepts it" in first.stderr
    assert first.stdout.splitlines()[0] == "out/prometheus/prometheus.yml"
    assert all(line.endswith(" (unchanged)") for line in second.stdout.splitlines())
    folder = fleet_file.parent
    written = {path.relative_to(folder).as_posix() for path in (folder / "out").rglob("*") if path.is_file()}
    assert written == set(first.stdout.splitlines())


def test_build_works_without_the_checkers_and_says_so(run: Run, fleet_file: Path) -> None:
    """A machine without Prometheus can still build; nobody is told that anything was checked."""
    done = run("build", fleet_file.name, "-o", "out", "--format", "json", env={"PATH": "/nonexistent"})

    assert done.returncode == 0, done.stderr
    assert "promtool is not installed, so its check was skipped" in done.stderr
    assert json.loads(done.stdout)["checked"] == {"promtool": False, "amtool": False}


def test_build_leaves_the_old_files_when_a_checker_refuses(run: Run, fleet_file: Path) -> None:
    """What promtool does not take never replaces what runs."""
    tools = fleet_file.parent / "bin"
    tools.mkdir()
    (tools / "promtool").write_text("#!/bin/sh\necho FAILED: bad rule\nexit 1\n")
    (tools / "promtool").chmod(0o755)

    done = run("build", fleet_file.name, "-o", "out", env={"PATH": f"{tools}:/bin:/usr/bin"})

    assert done.returncode == 1
    assert "promtool rejects the built files:\nFAILED: bad rule" in done.stderr
    assert not (fleet_file.parent / "out").exists()


def test_build_of_a_wrong_file_writes_nothing_and_says_all(run: Run, fleet_file: Path) -> None:
    """The same findings as `validate`, never a traceback."""
    _spoil(fleet_file, "qps_limit: 8", "qps_limit: eight")
    _spoil(fleet_file, "calls: {preprocess: 1", "calls: {preproces: 1")

    done = run("build", fleet_file.name, "-o", "out")

    assert done.returncode == 1
    assert "models.inspect.qps_limit" in done.stderr
    assert "models.inspect.calls.preproces" in done.stderr
    assert "did you mean preprocess?" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (fleet_file.parent / "out").exists()


def test_schema_is_json_that_knows_every_field(run: Run) -> None:
    """Editors get what the loader takes."""
    done = run("schema")
    schema = json.loads(done.stdout)

    assert done.returncode == 0
    assert schema["additionalProperties"] is False
    assert {"fleet", "replicas", "models", "notify"} <= set(schema["properties"])


BIN = Path(sys.executable).parent


def _ask(shell: str, script: str) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here; as root on Debian: tools/setup_tests.sh")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [program, "-c", script], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    return done.stdout.split()


BASH = """
source <(tritonobs completion bash)
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_tritonobs_completion tritonobs
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        pytest.param("tritonobs sta", ["stages", "status"], id="a command", marks=pytest.mark.needs("lab")),
        pytest.param("tritonobs limits v", ["verify"], id="a command of a group"),
        pytest.param("tritonobs stages --wi", ["--window"], id="an option"),
        pytest.param("tritonobs stages --format j", ["json"], id="a value"),
    ],
)
def test_bash_completes_commands_options_and_values(words: str, completed: list[str]) -> None:
    """As typed, with Tab at the end."""
    assert _ask("bash", BASH.format(words=words)) == completed


def test_fish_completes() -> None:
    """Words come first, their meaning behind them."""
    asked = 'tritonobs completion fish | source; complete -C "tritonobs stages --wi"'

    assert _ask("fish", asked)[0].startswith("--window")


def test_zsh_takes_the_script() -> None:
    """Loaded after compinit it registers without a complaint."""
    asked = (
        "autoload -U compinit; compinit -u -D; source <(tritonobs completion zsh); echo $_comps[tritonobs]"
    )

    assert _ask("zsh", asked) == ["_tritonobs_completion"]
