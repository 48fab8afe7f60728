"""Certain fixes at real servers: what `--fix` writes gives what the load generator knows.

Some are tried on the practice stack, the others on a server with a model that waits for a known time, fails
on purpose, and is loaded again. It waits for seconds; the way of a client there and back takes milliseconds.
"""

from __future__ import annotations

import ast
import shutil
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.linting import alert, fixed, panel, query
from support.programs import PrometheusProgram
from tritonobs import programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack.native import lone_triton
from tritonobs.extensions.lab.stack.processes import wait_for
from tritonobs.extensions.lint import checks
from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.checks.registry import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tritonobs.extensions.lab.load.schedule import LoadResult
    from tritonobs.extensions.lab.stack.local import Running

QPS, SECONDS = 4.0, 40.0
# From a scrape to a scrape, without traffic at either: all requests are within, and nothing is extrapolated.
INSPECTED = 'nv_inference_request_success{model="inspect"}'
OK = f"sum(rate({INSPECTED}[BOTH]))"
FAILED = 'sum(rate(nv_inference_request_failure{model="inspect"}[BOTH]))'
CALLED = 'sum(rate(nv_inference_request_success{model="detector"}[BOTH]))'

STEADY, STEADY_QPS, STEADY_SECONDS = "png:20x64", 5.0, 30.0
"""Images that take 0.2 s."""
MIXED, MIXED_QPS, MIXED_SECONDS = "png:800x64=6,png:1600x64=2,empty=2", 0.5, 40.0
"""Images that take 8 s and 16 s, and none. A busy machine keeps clients waiting for a tenth of a second."""
PATIENCE_SECONDS = 120.0
GRAFANA = {"$__interval": "5s", "$__rate_interval": "20s"}
"""What Grafana fills in for a panel of a point every 5 s, the scrape interval of the job `seldom`."""
SHOWN = {"": 1.0, "ms": 1e-3, "µs": 1e-6}
"""Seconds that a panel shows for 1, by its unit."""
CONFIG = """
backend: "python"
input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "RESULT" data_type: TYPE_STRING dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU count: 8 } ]
parameters { key: "latency_buckets" value { string_value: "%s" } }
"""
# Bounds are 1 % apart where the times are: a quantile of buckets is no nearer than the bounds.
BOUNDS = ", ".join(f"{least * (1 + step / 100):g}" for least in (8, 16) for step in range(9))
BOTH, SECOND = '{job="triton",model="timed"}[BOTH]', '{job="triton",model="timed"}[SECOND]'
SUCCESSES = 'nv_inference_request_success{job="triton",model="timed"}'
SERVED = f"sum by (model) (rate(nv_inference_request_success{SECOND}))"
LOST = f"sum by (model) (rate(nv_inference_request_failure{SECOND}))"
TOOK = f"sum by (model) (rate(nv_inference_request_duration_us{SECOND}))"
WAITED = SECOND.replace("}", ',stage="wait"}')
BUCKETS = f"sum by (le) (rate(tritonobs_stage_duration_seconds_bucket{WAITED}))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the load generator did, and the Prometheus that watched; `windows` are names in expressions."""

    prometheus: PrometheusClient
    at: float
    first: LoadResult
    second: LoadResult
    windows: Mapping[str, float] = field(default_factory=dict)

    def ask(self, expression: str, at: float) -> float | None:
        """The one value that it gives, or None."""
        for name, span in GRAFANA.items():
            expression = expression.replace(f"[{name}]", f"[{span}]")
        found = self.prometheus.query(expression, at=at)
        assert len(found) <= 1, found
        return found[0].value if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A check, what is written, and the truth that the load generator knows; a panel has a unit."""

    check: str
    written: str
    truth: Callable[[Seen], float]
    file: Callable[..., tuple[str, str]] = query
    unit: str = ""
    at: Callable[[Seen], float] = lambda seen: seen.at

    def expression(self, windows: Mapping[str, float]) -> str:
        """What is written, with the seconds of these windows."""
        written = self.written
        for name, seconds in windows.items():
            written = written.replace(f"[{name}]", f"[{1000 * seconds:.0f}ms]")
        return written

    def text(self, windows: Mapping[str, float]) -> tuple[str, str]:
        """The file, and its name."""
        return self.file(self.expression(windows), *([self.unit] if self.unit else []))


PRACTICE = {
    "a name that does not exist": Case(
        check="unknown-series",
        written=OK.replace("success", "success_total"),
        truth=lambda seen: seen.first.ok / seen.windows["BOTH"],
    ),
    # Each request of the pipeline calls the detector once.
    "1 + below the line": Case(
        check="guarded-denominator", written=f"{CALLED} / (1 + {OK})", truth=lambda _: 1.0
    ),
    "+ 1 below the line": Case(
        check="guarded-denominator", written=f"{CALLED} / ({OK} + 1)", truth=lambda _: 1.0
    ),
    "a bound below the line": Case(
        check="guarded-denominator", written=f"{CALLED} / clamp_min({OK}, 10)", truth=lambda _: 1.0
    ),
    "a share against percent": Case(
        check="ratio-and-percent",
        written=f"{OK} / ({OK} + {FAILED}) > 90",
        truth=lambda seen: seen.first.ok / seen.first.sent,
    ),
}
TIMED = {
    "delta over a reload": Case(
        check="delta-of-counter",
        written=f"sum by (model) (delta(nv_inference_request_success{BOTH}))",
        truth=lambda seen: seen.first.ok + seen.second.ok,
    ),
    "deriv over a reload": Case(
        check="delta-of-counter",
        written=f"sum by (model) (deriv(nv_inference_request_success{BOTH}))",
        truth=lambda seen: (seen.first.ok + seen.second.ok) / seen.windows["BOTH"],
    ),
    # The last request is some seconds old.
    "irate in an alert": Case(
        check="irate-in-alert",
        written=f"sum by (model) (irate(nv_inference_request_success{BOTH})) > 0.1",
        truth=lambda seen: (seen.first.ok + seen.second.ok) / seen.windows["BOTH"],
        file=alert,
    ),
    "a quantile of 50": Case(
        check="quantile-out-of-range",
        written=f"histogram_quantile(50, {BUCKETS})",
        truth=lambda seen: _known(seen.second.latency_from_send).p50,
    ),
    "a quantile of 90": Case(
        check="quantile-out-of-range",
        written=f"histogram_quantile(90, {BUCKETS})",
        truth=lambda seen: _known(seen.second.latency_from_send).p90,
    ),
    "a reason in another spelling": Case(
        check="unknown-label-value",
        written=LOST.replace('"timed"', '"timed",reason="backend"'),
        truth=lambda seen: seen.second.failed / seen.windows["SECOND"],
    ),
    "a share of failures against percent": Case(
        check="ratio-and-percent",
        written=f"{LOST} / ({SERVED} + {LOST}) > 5",
        truth=lambda seen: seen.second.failed / seen.second.sent,
    ),
    "a mean in the wrong unit": Case(
        check="wrong-unit",
        written=f"{TOOK} / {SERVED}",
        truth=lambda seen: _known(seen.second.latency_from_send).mean,
        file=panel,
        unit="ms",
    ),
    "a quantile of a summary in the wrong unit": Case(
        check="wrong-unit",
        written='nv_inference_request_summary_us{job="triton",model="timed",quantile="0.5"}',
        truth=lambda seen: _known(seen.second.latency_from_send).p50,
        file=panel,
        unit="ms",
    ),
    # While requests come at a steady rate.
    "a window of a pixel": Case(
        check="interval-window",
        written='sum(rate(nv_inference_request_success{job="seldom",model="timed"}[$__interval]))',
        truth=lambda seen: seen.first.achieved_qps,
        file=panel,
        at=lambda seen: seen.first.started_at + seen.first.seconds,
    ),
}
CASES = {**PRACTICE, **TIMED}


def _known(of: Any) -> Any:
    """The latencies, which are there where a request was answered."""
    assert of is not None
    return of


@pytest.fixture(name="practice", scope="module")
def _practice(stack: Running) -> Seen:
    """A steady load."""
    prometheus = PrometheusClient(stack.plan.addresses.prometheus_url)
    # The practice stack is scraped every 5 s.
    settled = partial(_settled, prometheus, INSPECTED, still="12s")
    (counted,) = wait_for(lambda: prometheus.query(INSPECTED) or None, "a first scrape", PATIENCE_SECONDS)
    began = settled(counted.value)
    run = run_load(
        LoadPlan(
            urls=(stack.plan.replicas[0].http_url,),
            segments=(Segment(qps=QPS, seconds=SECONDS),),
            mix=parse_mix("1280x720"),
        )
    )
    assert run.sent == QPS * SECONDS
    at = settled(counted.value + run.ok)
    return Seen(prometheus=prometheus, at=at, first=run, second=run, windows={"BOTH": at - began})


@pytest.fixture(name="timed", scope="module")
def _timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """A steady load, the model loaded again, and a mixed load."""
    repository = tmp_path_factory.mktemp("models")
    (repository / "timed" / "1").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("timed.py"), repository / "timed" / "1" / "model.py")
    (repository / "timed" / "config.pbtxt").write_text(CONFIG % BOUNDS)
    flags = ("--metrics-config=summary_latencies=true",)
    variables = {"TRITONOBS_SCRAPE_INTERVAL_SECONDS": "1"}
    with ExitStack() as held:
        triton = held.enter_context(
            lone_triton(repository, tmp_path_factory.mktemp("triton"), extra=flags, variables=variables)
        )
        targets = [{"targets": [triton.metrics_url.split("/")[2]]}]
        jobs = [
            {"job_name": name, "scrape_interval": every, "scrape_timeout": "1s", "static_configs": targets}
            for name, every in (("triton", "1s"), ("seldom", "5s"))
        ]
        program = held.enter_context(
            PrometheusProgram(
                programs.find("prometheus"), {"scrape_configs": jobs}, tmp_path_factory.mktemp("prometheus")
            )
        )
        prometheus, api = PrometheusClient(program.url), TritonClient(triton.http_url, timeout_seconds=60)
        settled = partial(_settled, prometheus, SUCCESSES, still="4s")

        def load(mix: str, qps: float, seconds: float) -> LoadResult:
            segments = (Segment(qps=qps, seconds=seconds),)
            plan = LoadPlan(urls=(triton.http_url,), model="timed", segments=segments, mix=parse_mix(mix))
            return run_load(plan)

        before = load(STEADY, STEADY_QPS, 1.0)
        began = settled(before.ok)
        first = load(STEADY, STEADY_QPS, STEADY_SECONDS)
        between = settled(before.ok + first.ok)
        api.unload("timed")
        wait_for(lambda: _gone(api) or None, "the model to be gone", PATIENCE_SECONDS)
        api.load("timed")
        second = load(MIXED, MIXED_QPS, MIXED_SECONDS)
        at = settled(second.ok)
        windows = {"BOTH": at - began, "SECOND": at - between}
        yield Seen(prometheus=prometheus, at=at, first=first, second=second, windows=windows)
        triton.require_alive()


def _settled(prometheus: PrometheusClient, successes: str, count: float, *, still: str) -> float:
    """The moment of a scrape, once all requests are counted and the count has stood for some scrapes."""
    asked = f"timestamp({successes}) and {successes} == {count:g} and changes({successes}[{still}]) == 0"
    found = wait_for(lambda: prometheus.query(asked) or None, f"{count:g} successes", PATIENCE_SECONDS)
    return found[0].value


def _gone(api: TritonClient) -> bool:
    """Whether nothing of the model is left, so that it counts from 0 when it is loaded again."""
    return all(one.state == "UNAVAILABLE" for one in api.repository_index())


def _mended(case: Case, seen: Seen, folder: Path) -> None:
    """Within two percent of the truth, where what was written is further away or empty."""
    by, expression, unit = fixed(folder, *case.text(seen.windows))
    truth, at = case.truth(seen), case.at(seen)

    before, after = seen.ask(case.expression(seen.windows), at), seen.ask(expression, at)

    assert by == {case.check}
    assert after is not None
    assert after * SHOWN[unit] == pytest.approx(truth, rel=0.02)
    assert before is None or before * SHOWN[case.unit] != pytest.approx(truth, rel=0.05)


@pytest.mark.e2e
@pytest.mark.parametrize("case", PRACTICE.values(), ids=PRACTICE)
def test_the_mended_expression_gives_what_was_sent(practice: Seen, tmp_path: Path, case: Case) -> None:
    """On the practice stack."""
    _mended(case, practice, tmp_path)


@pytest.mark.e2e
@pytest.mark.parametrize("case", TIMED.values(), ids=TIMED)
def test_the_mended_expression_gives_what_was_timed(timed: Seen, tmp_path: Path, case: Case) -> None:
    """On a server whose model waits for a known time, and was loaded again."""
    _mended(case, timed, tmp_path)


def test_every_check_that_mends_is_tried_on_real_series() -> None:
    """And no other."""
    assert {case.check for case in CASES.values()} == {name for name, one in CHECKS.items() if one.fixed}


def test_every_edit_in_the_code_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of the checks that makes an edit makes one in a case."""
    there, made = set[tuple[str, int]](), set[tuple[str, int]]()
    for file in Path(checks.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Edit":
                there.add((file.stem, node.lineno))

    def noted(**fields: Any) -> Edit:
        caller = sys._getframe(1)
        made.add((Path(caller.f_code.co_filename).stem, caller.f_lineno))
        return Edit(**fields)

    for name in {name for name, _ in there}:
        monkeypatch.setattr(f"{checks.__name__}.{name}.Edit", noted)
    for number, case in enumerate(CASES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert fixed(folder, *case.text({"BOTH": 90.0, "SECOND": 45.0}))[0] == {case.check}

    assert there
    assert made == there
