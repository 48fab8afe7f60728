"""What a wrong fleet file is answered, word for word."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs.errors import SpecInvalid
from tritonobs.plan.build import check
from tritonobs.spec.load import load_fleet, read_fleet, read_text

if TYPE_CHECKING:
    from conftest import Spoiled

MODEL_FIELDS = (
    "pipeline, calls, team, tier, qps_limit, scheduled_limits, tokens_per_second_limit, slos, "
    "latency_buckets and versions"
)
QPS = "allowed is a number from 0.001 to 1000000 (requests per second), or unlimited"
OBJECTIVE = "allowed is a share of good requests from 50% up to, but not, 100%, like 99.9% or 0.999"
DURATION = "allowed is a duration like 250ms, 30s, 5m, 1h30m or 30d"
MOMENT = "allowed is a moment with its time zone, like 2026-11-11T00:00:00+08:00 or 2026-11-11T00:00Z"

ONE_PROBLEM = [
    pytest.param(
        "qps_limit",
        "qps_limits",
        "9:5: models.checkout.qps_limits: unknown field; allowed are "
        f"{MODEL_FIELDS} (did you mean qps_limit?)",
        id="a misspelt field names the nearest one",
    ),
    pytest.param(
        "qps_limit",
        "zzz",
        f"9:5: models.checkout.zzz: unknown field; allowed are {MODEL_FIELDS}",
        id="a field like no other names them all",
    ),
    pytest.param(
        "limit: 8", "limit: 0", f'9:16: models.checkout.qps_limit: found "0"; {QPS}', id="a limit of zero"
    ),
    pytest.param(
        "limit: 8", "limit: -1", f'9:16: models.checkout.qps_limit: found "-1"; {QPS}', id="a negative limit"
    ),
    pytest.param(
        "limit: 8", "limit: 1e9", f'9:16: models.checkout.qps_limit: found "1e9"; {QPS}', id="an absurd limit"
    ),
    pytest.param(
        "limit: 8", "limit: .nan", f'9:16: models.checkout.qps_limit: found ".nan"; {QPS}', id="not a number"
    ),
    pytest.param(
        "limit: 8", "limit: NaN", f'9:16: models.checkout.qps_limit: found "NaN"; {QPS}', id="a decimal NaN"
    ),
    pytest.param(
        "limit: 8", "limit: 8 qps", f'9:16: models.checkout.qps_limit: found "8 qps"; {QPS}', id="a unit"
    ),
    pytest.param(
        "limit: 8", "limit:", f"9:5: models.checkout.qps_limit: found nothing; {QPS}", id="a value forgotten"
    ),
    pytest.param(
        "limit: 8",
        "limit: [8]",
        f"9:16: models.checkout.qps_limit: found a list; {QPS}",
        id="a list for a number",
    ),
    pytest.param(
        "99.9%",
        "99.9",
        '6:31: defaults.slos.availability.objective: found "99.9"; '
        f"{OBJECTIVE}; write 99.9% if you mean per cent",
        id="an objective without its percent sign",
    ),
    pytest.param(
        "99.9%",
        "100%",
        f'6:31: defaults.slos.availability.objective: found "100%"; {OBJECTIVE}',
        id="an objective that leaves no budget",
    ),
    pytest.param(
        "99.9%",
        "high",
        f'6:31: defaults.slos.availability.objective: found "high"; {OBJECTIVE}',
        id="an objective in words",
    ),
    pytest.param(
        "99.9%}",
        "99.9%, threshold: fast}",
        f'6:49: defaults.slos.availability.threshold: found "fast"; {DURATION}',
        id="a threshold in words",
    ),
    pytest.param(
        '"1": {}',
        "v1: {}",
        '10:16: models.checkout.versions.v1: found "v1"; '
        "allowed is a version as Triton numbers them: 1, 2, 3, …",
        id="a version that Triton would not load",
    ),
    pytest.param(
        '"1": {}',
        "01: {}",
        '10:16: models.checkout.versions.01: found "01"; '
        "allowed is a version as Triton numbers them: 1, 2, 3, …",
        id="a version with a leading zero",
    ),
    pytest.param(
        '"1": {}',
        '"1": 5',
        '10:21: models.checkout.versions.1: found "5"; '
        "allowed is a mapping with qps_limit, scheduled_limits, tokens_per_second_limit, slos "
        "and latency_buckets",
        id="a number where a mapping belongs",
    ),
    pytest.param(
        "versions:",
        "pipeline: ensembel\n    versions:",
        '10:15: models.checkout.pipeline: found "ensembel"; '
        "allowed are bls and ensemble (did you mean ensemble?)",
        id="a misspelt word names the nearest one",
    ),
    pytest.param(
        "fleet: shop\n",
        "",
        "1:1: fleet: is missing (The fleet's name)",
        id="a field missing at the top",
    ),
    pytest.param(
        ', url: "http://10.0.0.1:8000"',
        "",
        "3:5: replicas[0].url: is missing (Triton's HTTP address)",
        id="a field missing in a list",
    ),
    pytest.param(
        '"http://10.0.0.1:8000"',
        "10.0.0.1",
        '3:20: replicas[0].url: found "10.0.0.1"; allowed is an address like http://127.0.0.1:8000',
        id="an address without a scheme",
    ),
    pytest.param(
        "http://10.0.0.1:8000",
        "http://10.0.0.1:99999",
        '3:20: replicas[0].url: found "http://10.0.0.1:99999"; allowed is an address like http://127.0.0.1:8000',
        id="an address with an impossible port",
    ),
    pytest.param(
        "http://10.0.0.1:8000",
        "http://10.0.0.1:8000/metrics?pool=a",
        '3:20: replicas[0].url: found "http://10.0.0.1:8000/metrics?pool=a"; allowed is an address like '
        "http://127.0.0.1:8000, without ? and #",
        id="an address with a query",
    ),
    pytest.param(
        "http://10.0.0.1",
        "http://admin:hunter2@10.0.0.1",
        "3:20: replicas[0].url: found an address with a user name or a password in it; "
        "secrets do not belong in this file",
        id="a password is refused without being shown",
    ),
    *(
        pytest.param(
            "http://10.0.0.1:8000",
            f"http://admin:hunter2@{host}",
            "3:20: replicas[0].url: found an address with a user name or a password in it; "
            "secrets do not belong in this file",
            id=f"a password is refused without being shown, in an address with {what}",
        )
        for host, what in (("10.0.0.1:99999", "an impossible port"), ("[10.0.0.1", "half a bracket"))
    ),
    pytest.param(
        '  - {name: a, url: "http://10.0.0.1:8000"}\n',
        "  []\n",
        "3:3: replicas: is empty; allowed is at least one entry",
        id="no replicas",
    ),
    pytest.param(
        "fleet: shop",
        "fleet: shop\nslo_period: a month",
        f'2:13: slo_period: found "a month"; {DURATION}',
        id="a period in words",
    ),
    pytest.param(
        "fleet: shop",
        "fleet: shop\nlimits_source: git",
        '2:16: limits_source: found "git"; allowed are serve and rules',
        id="a word like no other names them all",
    ),
    pytest.param(
        "qps_limit: 8",
        "scheduled_limits: [{qps_limit: 8}]",
        "9:24: models.checkout.scheduled_limits[0]: valid_from and valid_until are both missing; "
        "write one of them, or a plain qps_limit",
        id="a scheduled limit without a time",
    ),
    pytest.param(
        "qps_limit: 8",
        "slos: {latency: {objective: 99%, target: 500ms}}",
        "9:38: models.checkout.slos.latency.target: unknown field; allowed are objective, threshold, stage, "
        "source and invalid (write threshold)",
        id="the old word for the threshold",
    ),
    pytest.param(
        "qps_limit: 8",
        "slos: {latency: {promised: false}}",
        "9:22: models.checkout.slos.latency.promised: unknown field; allowed are objective, threshold, "
        "stage, source and invalid (write none in place of the SLO)",
        id="the old word for none",
    ),
    pytest.param(
        "qps_limit: 8",
        "scheduled_limits: [{qps_limit: 8, valid_from: 2026-11-11}]",
        '9:51: models.checkout.scheduled_limits[0].valid_from: found "2026-11-11" without a time zone; '
        + MOMENT,
        id="a moment without a time zone",
    ),
    pytest.param(
        "qps_limit: 8",
        "scheduled_limits: [{qps_limit: 8, valid_until: tomorrow}]",
        f'9:52: models.checkout.scheduled_limits[0].valid_until: found "tomorrow"; {MOMENT}',
        id="a moment in words",
    ),
    pytest.param(
        "qps_limit: 8",
        "scheduled_limits: [{qps_limit: 8, valid_from: 2026-11-11T00:00Z, "
        "valid_until: 2026-11-11T08:00+08:00}]",
        "9:24: models.checkout.scheduled_limits[0]: valid_from is not before valid_until",
        id="a time that ends as it begins",
    ),
    pytest.param(
        "qps_limit: 8",
        "qps_limit: 8\n    qps_limit: 9",
        '10:5: "qps_limit" is written twice; first at line 9, column 5',
        id="a field written twice",
    ),
    pytest.param(
        "checkout:",
        '"a\\"b{c}\\nd.é":\n    qps: 1',
        '9:5: models."a\\"b{c}\\nd.é".qps: unknown field; '
        f"allowed are {MODEL_FIELDS} (did you mean qps_limit?)",
        id="a hostile name stays on one line",
    ),
]


@pytest.mark.parametrize(("old", "new", "complaint"), ONE_PROBLEM)
def test_a_problem_is_accepted_at_its_place(fleet: Spoiled, old: str, new: str, complaint: str) -> None:
    """Line, column, field, what was found, what is allowed: exactly this sentence and no other."""
    assert fleet.replace(old, new).complaints()[:1] == [f"fleet.yaml:{complaint}"]


def test_all_problems_are_accepted_at_once_in_the_order_of_the_file(fleet: Spoiled) -> None:
    """Nobody fixes one typo a run: syntax of names, fields, values and duplicates come together."""
    fleet.replace("99.9%", "99.9").replace("limit: 8", "limit: 8\n    qps_limit: 9\n    tiers: x")
    fleet.replace('"1"', "one").replace("http:", "htp:")

    assert [complaint.split(": ")[0] for complaint in fleet.complaints()] == [
        "fleet.yaml:3:20",
        "fleet.yaml:6:31",
        "fleet.yaml:10:5",
        "fleet.yaml:11:5",
        "fleet.yaml:12:16",
    ]


def test_secrets_in_the_wrong_place_are_not_shown(fleet: Spoiled) -> None:
    """A webhook pasted where a file name or a word belongs is not repeated on the screen."""
    fleet.text += (
        "notify: {language: 'https://x/robot/send?access_token=SECRET', dingtalk: [access_token=SECRET]}\n"
    )

    assert len(fleet.complaints()) == 2
    assert "SECRET" not in str(fleet.complaints())


def test_load_raises_with_every_finding(tmp_path: Path, fleet: Spoiled) -> None:
    """The exception carries the findings; its text is one line for each."""
    path = tmp_path / "fleet.yaml"
    path.write_text(fleet.replace("limit: 8", "limit: 0").replace("99.9%", "9").text)

    with pytest.raises(SpecInvalid) as raised:
        load_fleet(path)

    assert [finding.path for finding in raised.value.findings] == [
        "defaults.slos.availability.objective",
        "models.checkout.qps_limit",
    ]
    assert len(str(raised.value).splitlines()) == 2


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    """A folder in place of a file gives a sentence, no traceback."""
    (finding,) = read_fleet(tmp_path).findings

    assert str(finding) == f"{tmp_path}: is a folder; allowed is a regular file"


def test_what_is_left_of_a_wrong_file_can_be_judged_further(fleet: Spoiled) -> None:
    """A wrong value is taken out, so that its neighbours are still looked at."""
    left = fleet.replace("limit: 8", "limit: no").replace("99.9%", "99.95%").read().spec

    assert left is not None
    assert left.models["checkout"].qps_limit is None
    assert left.defaults.slos["availability"].objective == Decimal("0.9995")


@pytest.mark.parametrize(
    ("old", "new", "complaints"),
    [
        pytest.param("fleet:", "flet:", 2, id="no name of the fleet"),
        pytest.param("http:", "htp:", 1, id="no server with a right address"),
        pytest.param(
            "models:",
            "notify: {dingtalk: {oncall: {webhook: x}}}\nmodels:",
            1,
            id="a robot without a webhook",
        ),
        pytest.param("models:", "notify: 4\nmodels:", 1, id="no mapping"),
    ],
)
def test_what_lost_its_last_right_value_does_not_hide_the_rest(
    fleet: Spoiled, old: str, new: str, complaints: int
) -> None:
    """The fleet's name, its servers and its robots are not needed to judge the models."""
    reading = fleet.replace(old, new).read()

    assert len(reading.findings) == complaints
    assert reading.spec is not None
    assert reading.spec.models["checkout"].qps_limit is not None


def test_what_is_left_of_a_list_keeps_its_place_in_the_file() -> None:
    """An entry that was refused neither hides its neighbours nor moves what is said of them to its line."""
    text = """\
fleet: shop
replicas:
  - {name: a, url: "http://a:8000", pool: x}
  - {name: b, url: "http://b:8000"}
  - {name: b, url: "http://c:8000"}
models: {m: {}}
notify:
  dingtalk: {oncall: {webhook_file: w}}
  routes:
    - {too: dingtalk/oncall}
    - {match: {severity: critical}, to: dingtalk/oncall}
    - {to: dingtalk/oncal}
"""
    reading = read_text(text, "fleet.yaml")

    assert reading.spec is not None
    assert [(one.place.line, one.path) for one in reading.findings] == [
        (3, "replicas[0].pool"),
        (10, "notify.routes[0].to"),
        (10, "notify.routes[0].too"),
    ]
    assert [(one.place.line, one.path, one.message.partition(";")[0]) for one in check(reading.spec)] == [
        (5, "replicas[2].name", "is the same as that of replicas[1] (line 4)"),
        (12, "notify.routes[2].to[0]", 'found "dingtalk/oncal", which is not a receiver'),
    ]


@pytest.mark.parametrize("name", ["targets", "targets.txt", "targets.json.bak"])
def test_a_file_of_targets_has_a_name_that_prometheus_takes(name: str) -> None:
    """Prometheus would refuse the whole configuration."""
    text = f"fleet: shop\nreplicas: {{file: {{path: {name}}}}}\nmodels: {{m: {{}}}}\n"

    (finding,) = read_text(text, "fleet.yaml").findings

    assert str(finding) == (
        f'fleet.yaml:2:25: replicas.file.path: found "{name}"; '
        "allowed is a name that ends in .json, .yml or .yaml"
    )


@pytest.mark.parametrize("host", ["$HOST", "${HOST}", "{{host}}", "<host>", "a*"])
def test_a_host_that_is_a_variable_is_refused(host: str) -> None:
    """Nothing replaces it, and Prometheus would ask for a host of that name."""
    text = f"fleet: shop\nreplicas: [{{name: a, url: 'http://{host}:8000'}}]\nmodels: {{m: {{}}}}\n"

    (finding,) = read_text(text, "fleet.yaml").findings

    assert finding.path == "replicas[0].url"
    assert f'found "http://{host}:8000"; allowed is an address like http://127.0.0.1:8000' in finding.message


EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet.yaml"
KILLED = """
import os, signal, sys
from pathlib import Path
from tritonobs.spec import load

signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
build = load.Spec.model_rebuild


def killed():
    os.kill(os.getpid(), signal.SIGTERM)
    build()
    print("built")


load.Spec.model_rebuild = killed
load.load_fleet(Path(sys.argv[1]))
print("read")
"""


def test_a_signal_while_the_sections_are_built_ends_with_its_own_status() -> None:
    """Not meanwhile, because pydantic would make an error of its own of it."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(EXAMPLE)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (143, "built\n", "")
