"""`--fix`: only what is certain, only where it stands, and a second run finds nothing of it.

A real Prometheus evaluates the results. The truth is known because its past is made here: every second each
model has so many requests, and each waits so long. The counters of the model `r` begin again in between, as
after a restart.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.blocks import write_past
from support.programs import PrometheusProgram
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.checks.registry import Settings
from tritonobs.extensions.lint.linter import Options, fix, lint_files

RULES = """\
# Rules of the detector.   Two spaces stay.
groups:
- name:   detector   # a comment
  rules:
    - {alert: Busy, expr: 'nv_gpu_utilization > 80'}
    - alert: Queue
      expr: |
        # per request
        sum by (model) (delta(nv_inference_queue_duration_us[5m]))
          / (1 + sum by (model) (delta(nv_inference_request_success[5m])))  > 500000
    - alert: Failures
      expr: "sum by (model) (irate(nv_inference_request_failure{reason=\\"backend\\"}[5m])) > 0"
    - alert: Low
      expr: sum by (model) (rate(nv_inference_request_success_total[5m])) > 5
    - record: model:mean:us
      expr: rate(nv_inference_queue_duration_us[5m]) / clamp_min(rate(nv_inference_request_success[5m]), 1)
"""
MENDED = """\
# Rules of the detector.   Two spaces stay.
groups:
- name:   detector   # a comment
  rules:
    - {alert: Busy, expr: 'nv_gpu_utilization > 0.8'}
    - alert: Queue
      expr: |
        # per request
        sum by (model) (increase(nv_inference_queue_duration_us[5m]))
          / (sum by (model) (increase(nv_inference_request_success[5m])))  > 500000
    - alert: Failures
      expr: "sum by (model) (rate(nv_inference_request_failure{reason=\\"BACKEND\\"}[5m])) > 0"
    - alert: Low
      expr: sum by (model) (rate(nv_inference_request_success[5m])) > 5
    - record: model:mean:us
      expr: rate(nv_inference_queue_duration_us[5m]) / (rate(nv_inference_request_success[5m]))
"""
MEAN = (
    "sum by (model) (rate(nv_inference_queue_duration_us[$__interval]))"
    " / sum by (model) (rate(nv_inference_request_success[$__interval]))"
)


def _mended(path: Path) -> tuple[int, list[str]]:
    """How many problems were mended, and the ids that are left."""
    done = fix(lint_files([(path, True)], Options()).problems)
    return len(done), [one.id for one in lint_files([(path, True)], Options()).problems]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_certain_fixes_are_written_and_the_rest_stays(tmp_path, mark, ending):
    """Comments, spaces, line ends and quotes are as they were."""
    path = tmp_path / "rules.yml"
    path.write_bytes(mark + RULES.replace("\n", ending).encode())
    path.chmod(0o640)

    count, left = _mended(path)

    assert path.read_bytes() == mark + MENDED.replace("\n", ending).encode()
    assert (count, left, path.stat().st_mode & 0o777) == (8, [], 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_run_changes_nothing(tmp_path):
    """Not even the time of the file."""
    path = tmp_path / "rules.yml"
    path.write_text(MENDED)
    before = path.stat().st_mtime_ns

    assert _mended(path) == (0, [])
    assert path.stat().st_mtime_ns == before


FIXABLE = {
    "nv_gpu_utilization > 80": "nv_gpu_utilization > 0.8",
    'sum by (model) (rate(nv_inference_request_success_total{model=~"a|b\\\\d"}[5m]))': (
        'sum by (model) (rate(nv_inference_request_success{model=~"a|b\\\\d"}[5m]))'
    ),
    "rate(nv_inference_count[5m])\n  / clamp_min(\n    rate(nv_inference_exec_count[5m]), 1\n  )": (
        "rate(nv_inference_count[5m])\n  / (\n    rate(nv_inference_exec_count[5m])\n  )"
    ),
    'irate(nv_inference_request_failure{reason="backend", job=\'é"\'}[5m]) > 0 # 毫秒': (
        'rate(nv_inference_request_failure{reason="BACKEND", job=\'é"\'}[5m]) > 0 # 毫秒'
    ),
}


@pytest.mark.parametrize("style", ["'", '"', "|", ">", None])
@pytest.mark.parametrize(("written", "right"), FIXABLE.items(), ids=range(len(FIXABLE)))
def test_whatever_way_a_text_is_written_the_fix_is_the_same(tmp_path, written, right, style):
    """What YAML reads afterwards is the mended expression, and the other rule is as it was."""
    rules = [{"alert": "A", "expr": written}, {"alert": "B", "expr": "up == 0"}]
    path = tmp_path / "rules.yml"
    path.write_text(
        yaml.dump({"groups": [{"rules": rules}]}, default_style=style, allow_unicode=True, width=100)
    )

    _mended(path)

    read = yaml.safe_load(path.read_text())["groups"][0]["rules"]
    assert [one["expr"] for one in read] == [right, "up == 0"]


def test_a_board_keeps_its_layout(tmp_path):
    """The unit and the window of a panel are mended in the text, and nothing else is written anew."""
    panel = {"title": "é", "fieldConfig": {"defaults": {"unit": "ms"}}, "targets": [{"expr": MEAN}]}
    text = json.dumps({"title": "b", "schemaVersion": 39, "panels": [panel]}, indent=3, ensure_ascii=False)
    path = tmp_path / "board.json"
    path.write_text(text + "\n")

    count, left = _mended(path)

    assert path.read_text() == text.replace('"ms"', '"µs"').replace("$__interval", "$__rate_interval") + "\n"
    assert (count, left) == (3, [])


@pytest.mark.parametrize(
    "more",
    [
        {"targets": [{"expr": MEAN}, {"expr": f"{MEAN} / 1000"}]},
        {"fieldConfig": {"defaults": {"unit": "ms", "max": 500}}},
        {"fieldConfig": {"defaults": {"unit": "ms", "thresholds": {"steps": [{"value": 500}]}}}},
    ],
    ids=["two expressions", "an axis", "a threshold"],
)
def test_a_unit_stays_where_something_else_is_written_in_it(tmp_path, more):
    """The finding stays, too."""
    panel = {"title": "p", "fieldConfig": {"defaults": {"unit": "ms"}}, "targets": [{"expr": MEAN}], **more}
    path = tmp_path / "board.json"
    path.write_text(json.dumps({"title": "b", "schemaVersion": 39, "panels": [panel]}))

    assert "wrong-unit" in _mended(path)[1]
    assert '"unit": "ms"' in path.read_text()


def test_what_is_written_in_another_way_is_not_touched(tmp_path):
    """An escape within the word that would change: the finding stays."""
    path = tmp_path / "rules.yml"
    path.write_text('groups: [{rules: [{alert: A, expr: "nv_gpu_utilization > 8\\x30"}]}]')
    before = path.read_bytes()

    assert _mended(path) == (0, ["ratio-and-percent"])
    assert path.read_bytes() == before


def test_a_guard_stays_where_a_series_that_is_not_a_number_would_spoil_the_sum(tmp_path):
    """Within a sum, and in a scaler."""
    path = tmp_path / "query.promql"
    path.write_text(
        "avg(rate(nv_inference_queue_duration_us[5m]) / (1 + rate(nv_inference_request_success[5m])))"
    )
    before = path.read_bytes()

    assert _mended(path) == (0, ["average-of-averages", "guarded-denominator"])
    assert path.read_bytes() == before


def test_a_fix_that_would_break_the_expression_is_not_made(tmp_path):
    """Brackets around the number that goes."""
    path = tmp_path / "query.promql"
    path.write_text(
        "rate(nv_inference_queue_duration_us[5m]) / ((1) + rate(nv_inference_request_success[5m]))"
    )

    assert _mended(path) == (0, ["guarded-denominator"])


def test_a_fix_writes_through_a_link(tmp_path):
    """The link stays one."""
    path, link = tmp_path / "rules.yml", tmp_path / "link.yml"
    path.write_text(RULES)
    link.symlink_to(path)

    _mended(link)

    assert link.is_symlink()
    assert path.read_text() == MENDED


LAYOUT = """\
# tritonobs: nothing is silent here
groups:
- name:   "g"    # two  spaces stay
  rules:

    # above
    - alert: TritonCase  # beside
      expr: {}   # behind
      labels: {{severity: page}}
"""
BOARD = """{{"title":  "b", "schemaVersion": 39,
  "panels": [ {{"title": "P", "fieldConfig": {{"defaults": {{"unit": {}}} }},
    "targets": [{{"expr": {},   "refId": "A"}}]}} ]}}
"""
BUCKETS = "sum by (le) (rate(nv_inference_first_response_histogram_ms_bucket[5m]))"
QUEUE_MEAN = MEAN.replace("$__interval", "5m")
# What each check writes: the layout, what is wrong in it, and what stands there afterwards.
EACH = {
    "delta-of-counter": (
        LAYOUT,
        ["delta(nv_inference_count[5m]) > 1"],
        ["increase(nv_inference_count[5m]) > 1"],
    ),
    "guarded-denominator": (
        LAYOUT,
        ["rate(nv_inference_count[5m]) / (1 + rate(nv_inference_exec_count[5m])) > 2"],
        ["rate(nv_inference_count[5m]) / (rate(nv_inference_exec_count[5m])) > 2"],
    ),
    "interval-window": (
        BOARD,
        ['"cps"', '"rate(nv_inference_count[$__interval])"'],
        ['"cps"', '"rate(nv_inference_count[$__rate_interval])"'],
    ),
    "irate-in-alert": (LAYOUT, ["irate(nv_inference_count[5m]) > 1"], ["rate(nv_inference_count[5m]) > 1"]),
    "quantile-out-of-range": (
        LAYOUT,
        [f"histogram_quantile(95, {BUCKETS}) > 9"],
        [f"histogram_quantile(0.95, {BUCKETS}) > 9"],
    ),
    "ratio-and-percent": (LAYOUT, ["nv_gpu_utilization > 80"], ["nv_gpu_utilization > 0.8"]),
    "unknown-label-value": (
        LAYOUT,
        ['increase(nv_inference_request_failure{reason="backend"}[5m]) > 1'],
        ['increase(nv_inference_request_failure{reason="BACKEND"}[5m]) > 1'],
    ),
    "unknown-series": (
        LAYOUT,
        ["rate(nv_inference_request_success_total[5m]) > 1"],
        ["rate(nv_inference_request_success[5m]) > 1"],
    ),
    "wrong-unit": (BOARD, ['"ms"', f'"{QUEUE_MEAN}"'], ['"µs"', f'"{QUEUE_MEAN}"']),
}


def test_every_check_that_mends_has_a_case():
    """And no other."""
    assert set(EACH) == {name for name, check in CHECKS.items() if check.fixed}


@pytest.mark.parametrize("name", EACH)
def test_a_fix_changes_one_thing_once(tmp_path, name):
    """All else of the file stays, its check finds nothing more, and a second run writes nothing."""
    layout, wrong, right = EACH[name]
    path = tmp_path / ("rules.yml" if layout is LAYOUT else "board.json")
    path.write_text(layout.format(*wrong))
    asked = Options(select=frozenset([name]))

    mended = fix(lint_files([(path, True)], asked).problems)
    once = path.read_text()
    again = fix(lint_files([(path, True)], asked).problems)

    assert [one.id for one in mended] == [name]
    assert once == layout.format(*right)
    assert (again, path.read_text()) == ((), once)
    assert lint_files([(path, True)], asked).problems == ()


PER_SECOND, QUEUE_US, FAILURES = 0.5, 40_000, 0.25
SCRAPE_SECONDS, RESTART_AFTER, LOOK_AFTER, WINDOW_SECONDS = 0.25, 10.0, 22.0, 16
WINDOW = f"{WINDOW_SECONDS}s"
SHARES = {100: 0.9, 500: 0.99, 2000: 1.0}
"""Shares of the requests that are answered within so many milliseconds."""


def _samples(start: float) -> Iterator[tuple[str, float, float]]:
    """Series by series; those of a name follow each other."""
    scrapes = [SCRAPE_SECONDS * number for number in range(int(LOOK_AFTER / SCRAPE_SECONDS) + 1)]
    labels = {model: f'model="{model}",version="1"' for model in ("m", "r")}

    def counted(name: str, per_second: float, more: str = "") -> Iterator[tuple[str, float, float]]:
        for model, own in labels.items():
            for at in scrapes:
                since = at - RESTART_AFTER if model == "r" and at >= RESTART_AFTER else at
                yield f"{name}{{{own}{more}}}", per_second * since, start + at

    for name, value in (
        ('nv_gpu_utilization{gpu_uuid="GPU-1"}', 0.9),
        ('nv_trt_llm_kv_cache_block_metrics{model="m",version="1",kv_cache_block_type="used"}', 30),
    ):
        yield from ((name, value, start + at) for at in scrapes)
    yield from counted("nv_inference_request_success", PER_SECOND)
    yield from counted("nv_inference_queue_duration_us", PER_SECOND * QUEUE_US)
    for reason, share in (("BACKEND", FAILURES), ("OTHER", 0)):
        yield from counted("nv_inference_request_failure", share, f',reason="{reason}"')
    for bound, share in (*SHARES.items(), ("+Inf", 1)):
        name = "nv_inference_first_response_histogram_ms_bucket"
        yield from counted(name, PER_SECOND * share, f',le="{bound}"')


@pytest.fixture(name="asked", scope="module")
def _asked(tmp_path_factory):
    """What an expression gives soon after the restart, whenever it is asked."""
    if programs.look("prometheus") is None or programs.look("promtool") is None:
        pytest.skip("prometheus is not installed: tritonobs tools")
    folder = tmp_path_factory.mktemp("truth")
    at = int(time.time())
    write_past(_samples(at - LOOK_AFTER), folder)
    with PrometheusProgram(programs.find("prometheus"), {"scrape_configs": []}, folder) as running:
        prometheus = PrometheusClient(running.url, timeout_seconds=60)

        def ask(expression):
            found = prometheus.query(expression, at=at)
            return found[0].value if found else None

        yield ask


STEADY, RESTARTED = f'{{model="m"}}[{WINDOW}]', f'{{model="r"}}[{WINDOW}]'
WAITED = f"sum by (model) (rate(nv_inference_queue_duration_us{STEADY}))"
REQUESTS = f"sum by (model) (rate(nv_inference_request_success{STEADY}))"
BY_BOUND = f"sum by (le) (rate(nv_inference_first_response_histogram_ms_bucket{STEADY}))"
REASON = f'sum by (model) (rate(nv_inference_request_failure{{model="m",reason="backend"}}[{WINDOW}]))'
# What is written, and the truth.
TRUE = {
    "a name with _total": (REQUESTS.replace("success", "success_total"), PER_SECOND),
    "1 + in the denominator": (f"{WAITED} / (1 + {REQUESTS})", QUEUE_US),
    "+ 0.1 behind it": (f"{WAITED} / ({REQUESTS} + 0.1)", QUEUE_US),
    "clamp_min": (f"{WAITED} / clamp_min({REQUESTS}, 1)", QUEUE_US),
    "delta over a restart": (
        f"sum by (model) (delta(nv_inference_request_success{RESTARTED}))",
        PER_SECOND * WINDOW_SECONDS,
    ),
    "deriv over a restart": (f"sum by (model) (deriv(nv_inference_request_success{RESTARTED}))", PER_SECOND),
    "a value in another spelling": (REASON, FAILURES),
    "blocks": ('nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used_blocks"}', 30),
    "a ratio against percent": ("nv_gpu_utilization > 80", 0.9),
    "a quantile of 90": (f"histogram_quantile(90, {BY_BOUND})", 100),
}


@pytest.mark.parametrize(("written", "truth"), TRUE.values(), ids=TRUE)
def test_the_mended_expression_gives_the_truth(asked, tmp_path, written, truth):
    """Within two percent, where the old one is further away or empty."""
    path = tmp_path / "case.promql"
    path.write_text(written)
    options = Options(settings=Settings(scrape_seconds=SCRAPE_SECONDS))
    mended = fix(lint_files([(path, True)], options).problems)

    before, after = asked(written), asked(path.read_text())

    assert mended
    assert after == pytest.approx(truth, rel=0.02)
    assert before is None or before != pytest.approx(truth, rel=0.05)
