"""The soak of two hundred servers on one real Prometheus: what it counted, told and held, seen from outside.

The pages know what they showed. A server is dark for a while, a model fails on all servers, scrapes are lost,
a server starts again: every request is counted all the same, and every alert is told once, and its end.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
import yaml
from hours_seen import LOOK_SECONDS, MOST_GROWTH, Held, Seen, held_by, lines, watched
from results import table
from scale_pages import BOUNDS, ONE_FAILS_OF, QPS, STAGES, THRESHOLD_SECONDS, Pages, address, within

from support.programs import AlertmanagerProgram, PrometheusProgram, ServeProgram, free_port
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.lab.robot import RobotDouble
from tritonobs.plan.build import build_plan
from tritonobs.programs import find
from tritonobs.render.everything import render_fleet
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SERVERS, _MODELS, _SECONDS = 200, 4, 15
_WARM_SECONDS, _SETTLE_SECONDS = 150, 180
"""Counters stand still: objectives are read, and at the end all is evaluated."""
_DOWN, _FAILS, _AGAIN, _LOSE_EVERY = (0.20, 0.30), (0.50, 0.65), 0.70, 0.07
"""Shares of the run: one server is dark, a model fails, another server starts again, scrapes are lost."""
_DARK, _BORN, _LOST = 17, 42, 20
# Of an hour 1.44 % must fail: with 5 % that takes twenty minutes of failures, with 10 % eight.
_FAILING = 0.10
_MOST_OFF = 0.005
_MORE_FILES = 3
_GROUPED = {"critical": (1, 10), "warning": (180, 300), "info": (60, 300)}
"""Seconds that the built Alertmanager waits for a group, and between two messages of it."""
_EXPECTED = re.compile(
    # The last is of the server that starts again, of each of its models.
    r"TritonServerDown|TritonErrorBudget(Burn(Fast|Medium|Slow|Long)|Exhausted)|TritonErrorReasonSurge"
    r"|TritonModelReloaded"
)
# In full or short; in Markdown the icon stands before or between the asterisks.
_NEWS = re.compile(r"(🔴|🟠|🔵|✅) (?:\*\*)?(\w+)\*\* ?([^\n·]*)")
_LEVELS = re.compile(r"\blevel=(?:warn|error)\b|\b(?:WARNING|ERROR|CRITICAL)\b")
_COUNTED = {
    "requests": "model_version:triton_requests:increase",
    "requests that availability counts": 'slo:sli_valid_requests:increase{version="",slo="availability"}',
    "bad requests charged to availability": 'slo:sli_bad_requests:increase{version="",slo="availability"}',
    "requests that latency counts": 'slo:sli_valid_requests:increase{version="",slo="latency"}',
    "requests that latency charges": 'slo:sli_bad_requests:increase{version="",slo="latency"}',
}
_FLEET = """\
fleet: large
cluster: east
replicas: {{file: {{path: servers.json}}}}
addresses:
  prometheus: http://127.0.0.1:{own}
  serve: http://127.0.0.1:{serve}
  alertmanager: http://127.0.0.1:{manager}
prometheus: {{scrape_interval: {seconds}s, evaluation_interval: {seconds}s}}
rules: {{latency_thresholds: [{threshold:g}s]}}
notify: {{dingtalk: {{ops: {{webhook_file: webhook, secret_file: secret}}}}}}
defaults:
  qps_limit: {limit}
  slos:
    availability: {{objective: 99.9%}}
    latency: {{objective: 99%, stage: total, threshold: {threshold:g}s}}
models:
"""


class _Served(Pages):
    """Pages that know what they showed, and on which all goes wrong that this soak plants."""

    def __init__(self, whole: float) -> None:
        super().__init__(_SERVERS, _MODELS, 1)
        self._whole = whole
        self._starts = float("inf")
        self._losing: set[int] = set()
        self._again = False
        self._last: dict[tuple[int, int], Counter[str]] = {}
        self.truth: Counter[str] = Counter()
        """What all servers and models showed more than at first, also over a new begin."""
        self.refused = 0

    def begin(self) -> None:
        """Let the counters go, for the length of the run."""
        self._starts = time.time()

    def lose(self, servers: list[int]) -> None:
        """Let the next scrape of each fail."""
        self._losing |= set(servers)

    def answer(self, at: str) -> bytes:
        """The page, or nothing while it is dark."""
        server, share = self._numbers[at], self._traffic(time.time()) / self._whole
        if (server == _DARK and _DOWN[0] <= share < _DOWN[1]) or server in self._losing:
            self._losing.discard(server)
            self.refused += 1
            return b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
        return super().answer(at)

    def page(self, at: str) -> bytes:
        """A server that started again has other workers: theirs never begin again."""
        page = super().page(at)
        again = self._numbers[at] == _BORN and self._again
        return page.replace(b"-100-1a2b3c", b"-200-2b3c4d") if again else page

    def counted(self, server: int, model: int, now: float) -> tuple[int, int]:
        """Requests and bad ones until now; that they were shown is remembered."""
        passed = self._traffic(now)
        self._again = passed >= _AGAIN * self._whole
        born = _AGAIN * self._whole if server == _BORN and self._again else 0.0
        done = int((passed - born) * QPS) + 11 * model + (0 if born else 1000 + 37 * server)
        begin, end = (max(born, share * self._whole) for share in _FAILS)
        failed = 0 if model else int(_FAILING * QPS * max(0.0, min(passed, end) - begin))
        bad = done // ONE_FAILS_OF + failed
        in_time = int(done * within(THRESHOLD_SECONDS, STAGES["total"])) - bad
        self._show(server, model, Counter(done=done, bad=bad, slow=done - in_time))
        return done, bad

    def _traffic(self, now: float) -> float:
        """Seconds of traffic until now."""
        return min(self._whole, max(0.0, now - self._starts))

    def _show(self, server: int, model: int, shown: Counter[str]) -> None:
        before = self._last.get((server, model))
        self._last[server, model] = shown
        if before is not None:
            begun_again = shown["done"] < before["done"]
            for what, count in shown.items():
                self.truth[what] += count - (0 if begun_again else before[what])


@dataclass(slots=True, kw_only=True)
class _Rig:
    """The programs, and at which looks Alertmanager held an alert that nothing inhibits."""

    folder: Path
    pages: _Served
    robot: RobotDouble
    prometheus: PrometheusProgram
    serve: ServeProgram
    manager: AlertmanagerProgram
    active: dict[frozenset[tuple[str, str]], list[float]] = field(default_factory=dict)

    @property
    def client(self) -> PrometheusClient:
        """A client that is patient."""
        return PrometheusClient(self.prometheus.url, timeout_seconds=60)

    def looks(self) -> Mapping[str, Held]:
        """What each program holds now."""
        with suppress(requests.RequestException, ValueError):
            page = requests.get(f"{self.manager.url}/api/v2/alerts?inhibited=false", timeout=5).json()
            for one in page:
                self.active.setdefault(_key(one["labels"]), []).append(time.time())
        held = held_by(self.prometheus.pid, self.folder / "prometheus" / "data")
        with suppress(Exception):
            held["series"] = _number(self.client, "prometheus_tsdb_head_series")
        return {
            "prometheus": held,
            "serve": held_by(self.serve.pid),
            "alertmanager": held_by(self.manager.pid, self.folder / "am"),
        }


@dataclass(slots=True, kw_only=True)
class _Told:
    """Of one alert's name: times it began and ended; of these what had to be told; and what was."""

    severity: str
    begins: int = 0
    ends: int = 0
    due: int = 0
    ends_due: int = 0
    told: int = 0
    again: int = 0
    ends_told: int = 0
    still: int = 0

    @property
    def kept(self) -> bool:
        """All that was due was told, and nothing twice."""
        return self.due <= self.told <= self.begins and self.ends_due <= self.ends_told <= self.begins


def run(minutes: float) -> tuple[str, dict[str, object], bool]:
    """`minutes` of traffic, and about six of quiet around them: text, values, and whether all was kept."""
    began = time.time()
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="tritonobs-hours-")))
        rig = _start(folder, held, minutes * 60)
        with watched(rig.looks) as seen:
            time.sleep(_WARM_SECONDS)
            _traffic(rig.pages, minutes * 60)
            time.sleep(_SETTLE_SECONDS)
        return _report(rig, seen, began, minutes)


def _start(folder: Path, held: ExitStack, whole: float) -> _Rig:
    """All programs, with what `tritonobs build` makes of the fleet file."""
    pages, robot = held.enter_context(_Served(whole)), held.enter_context(RobotDouble())
    groups = [{"targets": [f"{address(one)}:{pages.port}"], "labels": {}} for one in range(_SERVERS)]
    (folder / "servers.json").write_text(json.dumps(groups), encoding="utf-8")
    for name, text in (("webhook", robot.webhook_url), ("secret", robot.secret)):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text, encoding="utf-8")
    own, serve, manager = free_port(), free_port(), free_port()
    limit, buckets = 4 * QPS * _SERVERS, ", ".join(f"{bound:g}s" for bound in BOUNDS)
    head = _FLEET.format(
        own=own, serve=serve, manager=manager, seconds=_SECONDS, limit=limit, threshold=THRESHOLD_SECONDS
    )
    models = [
        f"  m{one}: {{latency_buckets: [{buckets}], versions: {{'1': {{}}}}}}\n" for one in range(_MODELS)
    ]
    fleet = folder / "fleet.yaml"
    fleet.write_text(head + "".join(models), encoding="utf-8")
    for file in render_fleet(build_plan(load_fleet(fleet), folder)):
        (folder / "built" / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "built" / file.path).write_text(file.text, encoding="utf-8")
    built = folder / "built" / "prometheus"
    config: dict[str, Any] = yaml.safe_load((built / "prometheus.yml").read_text(encoding="utf-8"))
    config["rule_files"] = [str(built / file) for file in config["rule_files"]]
    for job in config["scrape_configs"]:
        for part in job.get("file_sd_configs", ()):
            part["files"] = [str(folder / file) for file in part["files"]]
    of_manager = folder / "built" / "alertmanager" / "alertmanager.yml"
    programs = (
        ServeProgram(fleet, port=serve),
        AlertmanagerProgram(find("alertmanager"), of_manager, folder / "am", port=manager),
        PrometheusProgram(find("prometheus"), config, folder / "prometheus", port=own),
    )
    for one in programs:
        held.enter_context(one)
    return _Rig(
        folder=folder,
        pages=pages,
        robot=robot,
        serve=programs[0],
        manager=programs[1],
        prometheus=programs[2],
    )


def _traffic(pages: _Served, whole: float) -> None:
    """All of the run; now and then the next scrape of some servers is lost."""
    chance = random.Random(_LOST)  # noqa: S311 (a repeatable experiment, no secret)
    pages.begin()
    began, turn = time.monotonic(), 1
    while (left := began + min(1.0, turn * _LOSE_EVERY) * whole - time.monotonic()) > 0:
        time.sleep(left)
        if turn * _LOSE_EVERY < 1:
            pages.lose(chance.sample(range(_SERVERS), _LOST))
            turn += 1


def _report(rig: _Rig, seen: Seen, began: float, minutes: float) -> tuple[str, dict[str, object], bool]:
    """What is true now that all stands still."""
    client, hours = rig.client, (time.time() - began) / 3600
    shown = rig.pages.truth
    truths = (shown["done"], shown["done"], shown["bad"], shown["done"], shown["slow"])
    span = f"[{time.time() - began:.0f}s]"
    counts = [
        (what, truth, _number(client, f"sum(sum_over_time({series}{span}))"))
        for truth, (what, series) in zip(truths, _COUNTED.items(), strict=True)
    ]
    alerts = _alerts(rig, began)
    of_all = f'sum(count_over_time(up{{job="triton"}}{span}))'
    asked = {
        "scrapes of servers": _number(client, of_all),
        "scrapes that failed": _number(client, f'{of_all} - sum(sum_over_time(up{{job="triton"}}{span}))'),
        "scrapes that the pages refused": float(rig.pages.refused),
        "missed iterations": _number(client, "sum(prometheus_rule_group_iterations_missed_total)"),
        "evaluations that failed": _number(client, "sum(prometheus_rule_evaluation_failures_total)"),
        "messages of the robot": float(len(rig.robot.messages)),
    }
    for program in (rig.prometheus, rig.serve, rig.manager):
        name = program.log.stem
        asked[f"lines of {name}'s log an hour"] = lines(program.log) / hours
        asked[f"of these warnings and errors ({name})"] = _warnings(program.log) / hours
    broken = list(_broken(counts, asked, alerts, seen))
    still = [f"{name} ({one.still})" for name, one in alerts.items() if one.still]
    compared = table(
        ["what", "truth from outside", "in Prometheus", "difference"], [_compared(*one) for one in counts]
    )
    text = (
        f"{_SERVERS} servers with {_MODELS} models each on Prometheus 2, {minutes:g} minutes of traffic; "
        f"scrapes and evaluations {_SECONDS} s apart. "
        f"{'Broken: ' + '; '.join(broken) if broken else 'All was kept'}.\n\n"
        f"{compared}\n\n{table(_HEADER, [_row(name, one) for name, one in alerts.items()])}\n\n"
        f"Still firing at the end: {', '.join(still) or 'none'}. Due is what nothing inhibited for long.\n\n"
        f"{table(['what', 'was'], [[name, f'{value:,.0f}'] for name, value in asked.items()])}\n\n"
        f"{seen.table()}"
    )
    values: dict[str, object] = {
        "counts": {what: {"truth": truth, "prometheus": counted} for what, truth, counted in counts},
        "alerts": {
            name: dict(zip(_HEADER[1:], _row(name, one)[1:], strict=True)) for name, one in alerts.items()
        },
        "held": seen.rows(),
        "broken": broken,
        **asked,
    }
    return text, values, not broken


_HEADER = [
    "alert",
    "severity",
    "begun",
    "due",
    "told",
    "told again",
    "ended",
    "ends due",
    "ends told",
    "firing at the end",
]


def _row(name: str, one: _Told) -> list[str]:
    numbers = (one.begins, one.due, one.told, one.again, one.ends, one.ends_due, one.ends_told, one.still)
    return [name, one.severity, *map(str, numbers)]


def _compared(what: str, truth: float, counted: float) -> list[str]:
    return [
        what,
        f"{truth:,.0f}",
        f"{counted:,.1f}",
        f"{counted - truth:+,.1f} ({_off(truth, counted):+.4%})",
    ]


def _off(truth: float, counted: float) -> float:
    return counted / truth - 1 if truth else counted


def _broken(
    counts: list[tuple[str, int, float]], asked: Mapping[str, float], alerts: Mapping[str, _Told], seen: Seen
) -> Iterator[str]:
    """What was not kept."""
    yield from (what for what, truth, counted in counts if abs(_off(truth, counted)) > _MOST_OFF)
    yield from (what for what in ("missed iterations", "evaluations that failed") if asked[what])
    for name, one in alerts.items():
        if not _EXPECTED.fullmatch(name):
            yield f"{name} was not expected"
        if not one.kept:
            yield f"{name} was not told as it was"
    for name in ("TritonServerDown", "TritonErrorBudgetBurnFast"):
        if name not in alerts:
            yield f"{name} never began"
    for program, what, early, end, _ in seen.rows():
        before, after = (float(one.replace(",", "")) for one in (early, end))
        judged = what in {"files", "threads"} or (what == "MiB" and program != "prometheus")
        if judged and after > before * (1 + MOST_GROWTH) + _MORE_FILES:
            yield f"{program} holds more {what}"


def _alerts(rig: _Rig, began: float) -> dict[str, _Told]:
    """Every name that fired; but the Watchdog, of which nobody is told."""
    alerts: dict[str, _Told] = {}
    now = time.time()
    last = began + (now - began) // _SECONDS * _SECONDS
    spans: dict[frozenset[tuple[str, str]], list[list[float]]] = {}
    fired = rig.client.query_range(
        'ALERTS{alertstate="firing",alertname!="Watchdog"}', start=began, end=now, step_seconds=_SECONDS
    )
    for series in fired:
        _, between = _GROUPED[series.labels["severity"]]
        parts = spans.setdefault(_key(series.labels), [])
        for at, _ in series.points:
            # What begins again before the next message of its group is no news.
            if parts and at - parts[-1][1] <= between + _SECONDS:
                parts[-1][1] = at
            else:
                parts.append([at, at])
    for key, parts in spans.items():
        labels = dict(key)
        told = alerts.setdefault(labels["alertname"], _Told(severity=labels["severity"]))
        longest = max(_GROUPED[told.severity]) + 3 * LOOK_SECONDS
        for begin, end in parts:
            over = end < last - 1
            due = _active(rig.active.get(key, []), begin, end) > longest
            told.begins += 1
            told.due += due
            told.ends += over
            told.ends_due += due and end < now - longest
            told.still += not over
    _count_news(rig.robot, alerts)
    return alerts


def _count_news(robot: RobotDouble, alerts: dict[str, _Told]) -> None:
    """What was told, by name; a message about a group says again what still fires in it, which is no news."""
    firing: set[tuple[str, str]] = set()
    for message in list(robot.messages):
        for icon, name, subject in _NEWS.findall(message.text):
            told, what = alerts.setdefault(name, _Told(severity="?")), (name, subject.strip())
            if icon == "✅":
                told.ends_told += 1
                firing.discard(what)
            elif what in firing:
                told.again += 1
            else:
                told.told += 1
                firing.add(what)


def _active(looks: list[float], begin: float, end: float) -> float:
    """Seconds of the longest time in this span for which every look saw it."""
    longest, since, before = 0.0, 0.0, 0.0
    for at in (one for one in looks if begin <= one <= end + _SECONDS):
        since = since if before and at - before < 2 * LOOK_SECONDS else at
        before, longest = at, max(longest, at - since)
    return longest


def _key(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """An alert, for Prometheus and for Alertmanager."""
    return frozenset(one for one in labels.items() if one[0] not in {"__name__", "alertstate", "cluster"})


def _warnings(log: Path) -> int:
    return sum(
        1 for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if _LEVELS.search(line)
    )


def _number(client: PrometheusClient, query: str) -> float:
    """The only value; 0 without one."""
    return sum(row.value for row in client.query(query)[:1])
