"""A snapshot as checks read it: tables of both windows, changes by stage, numbers by labels. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from tritonobs import names
from tritonobs.clients.prometheus import Target
from tritonobs.extensions.triage.case import Case, Change, Spread, growth
from tritonobs.extensions.triage.snapshot import Snapshot, timings_of
from tritonobs.extensions.triage.trends import Trends
from tritonobs.timings import outcomes
from tritonobs.timings.measured import Subject
from tritonobs.timings.outcomes import WORKER_LABELS, Ended, Key, Worker, ended, place_of, workers
from tritonobs.timings.promql import MODEL_VERSION_STAGE, labels_of
from tritonobs.timings.stages import StageTable, stage_tables

_NOTABLE_RATIO = 0.01
_TRITON_JOB = "triton"

_FEWEST_OF_TAIL = 50
"""Of fewer requests the largest hundredth is one of chance."""
_SILENT_SECONDS = 20.0
"""For a snapshot without the question about workers: this far behind the newest heartbeat of the replica."""


class View:
    """A snapshot, read. Numbers are summed over the labels that are not named.

    `now` is the incident window, `before` the baseline, `usual` what varied in it. `trends` are how numbers
    moved, and `roster` the workers, then and now.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.now = timings_of(snapshot.now, snapshot.incident)
        self.before = timings_of(snapshot.before, snapshot.baseline)
        self.usual, self.trends = Spread(series=snapshot.usual), Trends(snapshot)
        self._rows: dict[tuple[str, tuple[str, ...], bool], dict[tuple[str, ...], float]] = {}
        self.roster = Roster(self)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every model version that clients ask now."""
        model, version = self.snapshot.model, self.snapshot.version
        before: defaultdict[str, list[StageTable]] = defaultdict(list)
        # Rows of any size: a rest that is too small for a table in one window is compared in the other.
        for table in stage_tables(self.before, model=model, worth=0.0):
            before[table.model].append(table)
        return tuple(
            Case(now=table, before=_counterpart(table, before[table.model]), usual=self.usual)
            for table in stage_tables(self.now, model=model, version=version, worth=0.0)
        )

    @cached_property
    def slower_cases(self) -> dict[str, Case]:
        """By model: the slower case in which it has a part, the worst of them."""
        worst: dict[str, Case] = {}
        for case in sorted(self.cases, key=lambda case: case.added_seconds):
            if case.slower:
                worst |= dict.fromkeys({case.now.model, *(row.model for row in case.now.rows)}, case)
        return worst

    def slower_stage(self, model: str, stage: str) -> tuple[Case, Change] | None:
        """A stage of a request that takes longer, or one that takes a multiple of its time."""
        worst = self.slower_cases.get(model)
        for case in (worst,) if worst else self.cases:
            change = case.change_of(model, stage)
            if change and (worst or case.multiplied(change, self.batch_growth(change.subject))):
                return case, change
        return None

    @cached_property
    def families(self) -> dict[str, frozenset[str]]:
        """By model: itself, what calls it, and what those call, as far as any call is known."""
        calls = self.now.calls or self.before.calls
        callees, callers = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for call in calls:
            callees[call.pipeline].add(call.model)
            callers[call.model].add(call.pipeline)
        return {
            model: frozenset(entrances.union(*(callees[entrance] for entrance in entrances)))
            for model in {*callees, *callers}
            for entrances in ({model} | callers[model],)
        }

    def callers(self, model: str) -> frozenset[str]:
        """A model, and those whose requests come to it, by way of others too."""
        found, new = {model}, {model}
        while new:
            new = {call.pipeline for call in self.now.calls or self.before.calls if call.model in new} - found
            found |= new
        return frozenset(found)

    def value(self, name: str, labels: Mapping[str, str], *, before: bool = False) -> float | None:
        """The sum of an answer's readings with these labels; None when there is none, or it was not seen."""
        wanted = sorted(labels.items())
        rows = self.rows(name, *(label for label, _ in wanted), before=before)
        return rows.get(tuple(value for _, value in wanted))

    def both(self, name: str, labels: Mapping[str, str]) -> tuple[float | None, float | None]:
        """That value before, and now."""
        return self.value(name, labels, before=True), self.value(name, labels)

    def ratio(self, name: str, to: str, labels: Mapping[str, str], *, before: bool = False) -> float | None:
        """That value of one answer to that of another; None where one is missing, or the other is 0."""
        value, whole = (self.value(asked, labels, before=before) for asked in (name, to))
        return value / whole if value is not None and whole else None

    def rows(self, name: str, *labels: str, before: bool = False) -> dict[tuple[str, ...], float]:
        """An answer by the values of some labels."""
        # Indexed once: scans for each subject cost the square of the fleet (tests/triage/test_growth.py).
        known = self._rows.get((name, labels, before))
        if known is None:
            known = self._rows[name, labels, before] = {}
            for item in (self.snapshot.before if before else self.snapshot.now).get(name, ()):
                key = tuple(item.labels.get(label, "") for label in labels)
                known[key] = known.get(key, 0.0) + item.value
        return known

    def subjects(self, *, before: bool = False) -> Iterator[Subject]:
        """Model versions with requests, called ones too."""
        timings = self.before if before else self.now
        return (subject for subject in timings.subjects() if timings.requests(subject) > 0)

    def asked(self) -> tuple[Subject, ...]:
        """Model versions that clients or pipelines asked, those whose every request fails among them."""
        ended_now = (subject for subject, end in self._ends[False].items() if end.requests)
        return tuple(sorted({*self.subjects(), *ended_now}))

    def request_rate(self, subject: Subject, *, before: bool = False) -> float:
        """Requests a second of a model version, failed ones too."""
        known = (self.before if before else self.now).requests(subject)
        return max(known, self._ends[before].get(subject, _NO_END).requests)

    def client_rate(self, *, before: bool = False) -> float:
        """Requests a second of clients: those of all models, less what pipelines call."""
        rates: defaultdict[str, float] = defaultdict(float)
        for subject in (self.before if before else self.now).servers:
            rates[subject[0]] += self.request_rate(subject, before=before)
        called: defaultdict[str, float] = defaultdict(float)
        for call in self.now.calls or self.before.calls:
            called[call.model] += rates.get(call.pipeline, 0.0) * call.per_request
        # Pipelines that give up early call less than assumed.
        return sum(max(0.0, rate - called[model]) for model, rate in rates.items())

    def error_ratio(self, subject: Subject, *, before: bool = False) -> float | None:
        """The share of requests that ended in an error, by the model's own count and by Triton's."""
        return self._ends[before].get(subject, _NO_END).ratio

    def invalid_ratio(self, subject: Subject, *, before: bool = False) -> float | None:
        """The share of requests that were the caller's fault, by the model's own count or its members'."""
        return self._ends[before].get(subject, _NO_END).invalid_ratio

    def failing(self, model: str) -> bool:
        """Whether a model answers notably more errors than before."""
        subjects = [subject for subject in self._ends[False] if subject[0] == model]
        return any(
            (self.error_ratio(subject) or 0.0)
            > _NOTABLE_RATIO + 2 * (self.error_ratio(subject, before=True) or 0.0)
            for subject in subjects
        )

    def mean_batch(self, subject: Subject, *, before: bool = False) -> float | None:
        """Inferences per execution."""
        return self.ratio("inferences", "executions", labels_of(subject), before=before)

    def batch_growth(self, subject: Subject) -> float:
        """How much fuller batches are: each request of a batch is charged the whole batch."""
        return max(1.0, growth(self.mean_batch(subject), self.mean_batch(subject, before=True)))

    def sized(self) -> Iterator[tuple[Subject, str, str]]:
        """Model version, stage and kind of all sizes that stages report."""
        labels = (*MODEL_VERSION_STAGE, names.KIND)
        for model, version, stage, kind in self.rows("size_count", *labels):
            yield (model, version), stage, kind

    def mean_size(self, subject: Subject, stage: str, kind: str, *, before: bool = False) -> float | None:
        """The mean size of what a stage was given."""
        labels = {**labels_of(subject), names.STAGE: stage, names.KIND: kind}
        return self.ratio("size_sum", "size_count", labels, before=before)

    def usual_size(self, subject: Subject, stage: str, kind: str) -> float | None:
        """The mean size in the baseline, of another version where this one was not there."""
        exact = self.mean_size(subject, stage, kind, before=True)
        if exact is not None:
            return exact
        others = (other for other in self.before.subjects() if other[0] == subject[0])
        sizes = (self.mean_size(other, stage, kind, before=True) for other in others)
        return next((size for size in sizes if size is not None), None)

    def tail_size(self, subject: Subject, stage: str, kind: str) -> tuple[float | None, float | None]:
        """The size only a hundredth exceeds, before and now; None where too few requests had one."""
        labels = {**labels_of(subject), names.STAGE: stage, names.KIND: kind}
        tails, counts = self.both("size_p99", labels), self.both("size_count", labels)
        spans = (self.snapshot.baseline, self.snapshot.incident)
        before, now = (
            tail if count is not None and count * span.seconds >= _FEWEST_OF_TAIL else None
            for tail, count, span in zip(tails, counts, spans, strict=True)
        )
        return before, now

    def is_up(self, replica: str, *, before: bool = False) -> bool:
        """Whether the last scrape of a replica went well; one that is not a target is not up."""
        return bool(self.value("up", {names.INSTANCE: replica}, before=before))

    def was_up(self, replica: str) -> float | None:
        """Whether the last scrape of the baseline went well."""
        return self.value("up", {names.INSTANCE: replica}, before=True)

    def is_replica(self, target: Target) -> bool:
        """Whether a scrape target is a Triton server, by what it is or was seen to serve."""
        return (
            target.labels.get("job") == _TRITON_JOB or target.labels.get(names.INSTANCE, "") in self.replicas
        )

    def replica_targets(self) -> tuple[Target, ...]:
        """The scrape targets that are Triton servers."""
        return tuple(target for target in self.snapshot.targets if self.is_replica(target))

    @cached_property
    def replicas(self) -> set[str]:
        """The replicas with a known model, in either window."""
        return {
            replica
            for side in (False, True)
            for (replica,) in self.rows("replica_requests", names.INSTANCE, before=side)
        }

    @cached_property
    def _ends(self) -> Mapping[bool, dict[Subject, Ended]]:
        """How requests ended, by whether it is before."""
        return {side: self._count(before=side) for side in (False, True)}

    def _count(self, *, before: bool) -> dict[Subject, Ended]:
        labels = outcomes.LABELS
        if not any(replica for (replica,) in self.rows("outcomes", names.INSTANCE, before=before)):
            # Snapshots of tritonobs 0.5 did not ask by replica.
            labels = ("", *labels[1:])
        return ended(
            self.rows("replica_requests", *labels, before=before),
            self.rows("failures", *labels, names.REASON, before=before),
            self.rows("outcomes", *labels, names.OUTCOME, before=before),
            self._ensembles,
            {(call.pipeline, call.model) for call in self.now.calls or self.before.calls},
        )

    @cached_property
    def _ensembles(self) -> set[str]:
        """By the fleet file, or by what the replicas say of their models."""
        # Triton counts a failed ensemble request twice, so they are needed without a fleet file, too.
        known = {model for (model,) in self.rows("ensembles", names.MODEL)}
        return known | {
            config.name for replica in self.snapshot.replicas for config in replica.configs if config.steps
        }


_NO_END = Ended()


def _counterpart(table: StageTable, before: list[StageTable]) -> StageTable | None:
    """The same version in the baseline, or the busiest other: what a new version is compared with."""
    exact = [other for other in before if other.version == table.version]
    return max(exact or before, key=lambda other: other.request.rate, default=None)


class Roster:
    """The workers of a view; `known` are the model versions that had some in the baseline."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._beats = view.rows("heartbeats", *WORKER_LABELS)
        self._beats_before = view.rows("heartbeats", *WORKER_LABELS, before=True)
        self.known = frozenset((key[1], key[2]) for key in self._beats_before)

    @cached_property
    def workers(self) -> tuple[Worker, ...]:
        """Those on replicas that are scraped, of models that are loaded there."""
        return workers(self._moved(), self._view.rows("replica_requests", *WORKER_LABELS[:3]))

    @cached_property
    def lost(self) -> tuple[Worker, ...]:
        """Those that are dead, and those that were replaced in the incident."""
        return tuple(
            worker
            for worker in self.workers
            if worker.state == "dead"
            or (
                # Until it restarts, Triton keeps the series of a killed worker and of an `initialize` that
                # failed: only a worker of the baseline that died in the incident is news.
                worker.state == "replaced"
                and _key(worker) in self._beats_before
                and self.last_beat(worker) >= self._view.snapshot.incident.start
            )
        )

    def last_beat(self, worker: Worker) -> float:
        """When it beat last, by Prometheus' time where others beat on its replica; else by its own."""
        return self._by_prometheus(worker.replica, self._beats.get(_key(worker), 0.0))

    def _by_prometheus(self, replica: str, beat: float) -> float:
        newest = self._newest.get(replica)
        return beat if newest is None else self._view.snapshot.incident.end - max(0.0, newest - beat)

    @cached_property
    def born(self) -> Mapping[Subject, tuple[Worker, ...]]:
        """Living workers that were not there in the baseline, of models that had others then."""
        known = {model for model, _ in self.known}
        born: dict[Subject, tuple[Worker, ...]] = {}
        for worker in self.workers:
            subject = (worker.model, worker.version)
            if worker.state == "alive" and worker.model in known and self._was_born(_key(worker)):
                born[subject] = (*born.get(subject, ()), worker)
        return born

    def _was_born(self, key: Key) -> bool:
        """Whether its first heartbeat of the incident is its first: the baseline may lie before that."""
        start = self._view.snapshot.incident.start
        return key not in self._beats_before and self._began(key) > start + self._view.trends.window / 2

    def first_beat(self, worker: Worker) -> float:
        """When it was first heard of in the incident, by Prometheus' time."""
        return self._began(_key(worker))

    def _began(self, key: Key) -> float:
        beat = self._view.rows("first_beats", *WORKER_LABELS).get(key, self._beats.get(key, 0.0))
        return self._by_prometheus(key[0], beat)

    @cached_property
    def loads(self) -> Mapping[Subject, tuple[float, ...]]:
        """By model, when workers of the instance that began most often in the incident did."""
        began: defaultdict[Key, list[float]] = defaultdict(list)
        for key in self._view.rows("first_beats", *WORKER_LABELS):
            if self._was_born(key):
                began[key[0], key[1], key[2], place_of(key[3])].append(self._began(key))
        most: dict[Subject, tuple[float, ...]] = {}
        for (_, model, version, _), moments in began.items():
            most[model, version] = max(most.get((model, version), ()), tuple(sorted(moments)), key=len)
        return most

    @cached_property
    def _newest(self) -> Mapping[str, float]:
        """The newest heartbeat on each replica where one lives."""
        beats = defaultdict[str, list[float]](list)
        for worker in self.workers:
            beat = self._beats.get(_key(worker))
            # Prometheus may not have answered the question for heartbeats.
            if worker.state == "alive" and beat is not None:
                beats[worker.replica].append(beat)
        return {replica: max(found) for replica, found in beats.items()}

    def _moved(self) -> dict[Key, float]:
        if "alive" in self._view.snapshot.now:
            # On a replica that is not scraped a heartbeat is old because it is not read.
            asked = self._view.rows("alive", *WORKER_LABELS)
            return {key: value for key, value in asked.items() if self._view.is_up(key[0])}
        newest: dict[str, float] = {}
        for key, beat in self._beats.items():
            newest[key[0]] = max(newest.get(key[0], 0.0), beat)
        return {
            key: float(newest[key[0]] - beat < _SILENT_SECONDS)
            for key, beat in self._beats.items()
            if self._view.is_up(key[0])
        }


def _key(worker: Worker) -> Key:
    return (worker.replica, worker.model, worker.version, worker.worker)
