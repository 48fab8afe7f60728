"""A snapshot as checks read it: tables side by side, changes by stage, numbers by labels. Pure."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tritonobs import names
from tritonobs.live.case import Case
from tritonobs.live.stages import stage_tables
from tritonobs.live.timings import timings_from
from tritonobs.live.usual import Usual

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tritonobs.clients.prometheus import Target
    from tritonobs.live.snapshot import Snapshot, Span
    from tritonobs.live.stages import StageTable
    from tritonobs.live.timings import Answers, Subject, Timings


_NOTABLE_RATIO = 0.01
_TRITON_JOB = "triton"


class View:
    """A snapshot, read. Numbers are summed over the labels that are not named."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @cached_property
    def now(self) -> Timings:
        """The incident window."""
        return _timings(self.snapshot.now, self.snapshot.incident)

    @cached_property
    def before(self) -> Timings:
        """The baseline window."""
        return _timings(self.snapshot.before, self.snapshot.baseline)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every model version that clients ask now."""
        model, version = self.snapshot.model, self.snapshot.version
        before = stage_tables(self.before, model=model, worth=0.0)
        usual = Usual(series=self.snapshot.usual)
        return tuple(
            Case(now=table, before=_counterpart(table, before), usual=usual)
            for table in stage_tables(self.now, model=model, version=version, worth=0.0)
        )

    def slower_case(self, model: str) -> Case | None:
        """The slower case in which a model has a part, the worst of them."""
        found = [
            case
            for case in self.cases
            if case.slower and (case.now.model == model or any(row.model == model for row in case.now.rows))
        ]
        return max(found, key=lambda case: case.added_seconds, default=None)

    def value(
        self, name: str, labels: Mapping[str, str] | None = None, *, before: bool = False
    ) -> float | None:
        """The sum of an answer's readings with these labels; None when there is none, or it was not seen."""
        answers = self.snapshot.before if before else self.snapshot.now
        wanted = labels or {}
        found = [item.value for item in answers.get(name, ()) if wanted.items() <= item.labels.items()]
        return sum(found) if found else None

    def rows(self, name: str, *labels: str, before: bool = False) -> dict[tuple[str, ...], float]:
        """An answer by the values of some labels."""
        rows: dict[tuple[str, ...], float] = {}
        for item in (self.snapshot.before if before else self.snapshot.now).get(name, ()):
            key = tuple(item.labels.get(label, "") for label in labels)
            rows[key] = rows.get(key, 0.0) + item.value
        return rows

    def subjects(self, *, before: bool = False) -> Iterator[Subject]:
        """Model versions with requests, called ones too."""
        timings = self.before if before else self.now
        return (subject for subject in timings.subjects() if requests(timings, subject) > 0)

    def request_rate(self, subject: Subject, *, before: bool = False) -> float:
        """Requests a second of a model version, failed ones too."""
        return requests(self.before if before else self.now, subject) + self._failure_rate(
            subject, before=before
        )

    def error_ratio(self, subject: Subject, *, before: bool = False) -> float | None:
        """The share of requests that ended in an error, by the model's own count and by Triton's."""
        labels = _labels(subject)
        told = {
            outcome: rate
            for (*place, outcome), rate in self.rows(
                "outcomes", names.MODEL, names.VERSION, names.OUTCOME, before=before
            ).items()
            if tuple(place) == subject
        }
        failed = self._failure_rate(subject, before=before)
        good = self.value("requests", labels, before=before) or 0.0
        answered = max(sum(told.values()), good) + failed
        return (told.get("error", 0.0) + told.get("rejected", 0.0) + failed) / answered if answered else None

    def failing(self, model: str) -> bool:
        """Whether a model answers notably more errors than before."""
        subjects = [subject for subject in self.subjects() if subject[0] == model]
        return any(
            (self.error_ratio(subject) or 0.0)
            > _NOTABLE_RATIO + 2 * (self.error_ratio(subject, before=True) or 0.0)
            for subject in subjects
        )

    def mean_batch(self, subject: Subject, *, before: bool = False) -> float | None:
        """Inferences per execution."""
        labels = _labels(subject)
        items, runs = (self.value(name, labels, before=before) for name in ("inferences", "executions"))
        return items / runs if items is not None and runs else None

    def batch_growth(self, subject: Subject) -> float:
        """How much fuller batches are: each request of a batch is charged the whole batch."""
        now, before = self.mean_batch(subject), self.mean_batch(subject, before=True)
        return max(1.0, now / before) if now and before else 1.0

    def mean_size(self, subject: Subject, stage: str, kind: str, *, before: bool = False) -> float | None:
        """The mean size of what a stage was given."""
        labels = {**_labels(subject), names.STAGE: stage, names.KIND: kind}
        total = self.value("size_sum", labels, before=before)
        count = self.value("size_count", labels, before=before)
        return total / count if total is not None and count else None

    def usual_size(self, subject: Subject, stage: str, kind: str) -> float | None:
        """The mean size in the baseline, of another version where this one was not there."""
        exact = self.mean_size(subject, stage, kind, before=True)
        others = (other for other in self.before.subjects() if other[0] == subject[0])
        return (
            exact
            if exact is not None
            else next(
                (
                    size
                    for other in others
                    if (size := self.mean_size(other, stage, kind, before=True)) is not None
                ),
                None,
            )
        )

    def tail_size(self, subject: Subject, stage: str, kind: str) -> tuple[float | None, float | None]:
        """The size only a hundredth exceeds, now and in the baseline."""
        labels = {**_labels(subject), names.STAGE: stage, names.KIND: kind}
        now, before = (self.value("size_p99", labels, before=side) for side in (False, True))
        return now, before

    def is_up(self, replica: str) -> bool:
        """Whether the last scrape of a replica went well."""
        return self.value("up", {names.INSTANCE: replica}) != 0

    def was_up(self, replica: str) -> float | None:
        """Whether the last scrape of the baseline went well."""
        return self.value("up", {names.INSTANCE: replica}, before=True)

    def is_replica(self, target: Target) -> bool:
        """Whether a scrape target is a Triton server, by what it is or was seen to serve."""
        replicas = self.rows("replica_requests", names.INSTANCE) | self.rows(
            "replica_requests", names.INSTANCE, before=True
        )
        return target.labels.get("job") == _TRITON_JOB or (target.labels.get(names.INSTANCE, ""),) in replicas

    def replica_targets(self) -> tuple[Target, ...]:
        """The scrape targets that are Triton servers."""
        return tuple(target for target in self.snapshot.targets if self.is_replica(target))

    def _failure_rate(self, subject: Subject, *, before: bool = False) -> float:
        """Failures that Triton counts; what a client cancelled is none."""
        rows = self.rows("failures", names.MODEL, names.VERSION, names.REASON, before=before)
        return sum(
            rate
            for (*place, reason), rate in rows.items()
            if tuple(place) == subject and reason != "CANCELED"
        )


def _labels(subject: Subject) -> dict[str, str]:
    return {names.MODEL: subject[0], names.VERSION: subject[1]}


def requests(timings: Timings, subject: Subject) -> float:
    """Requests a second of a model version, by Triton or by the model itself."""
    server = timings.servers.get(subject)
    total = timings.stages.get((*subject, names.TOTAL_STAGE))
    return max(server.rate if server else 0.0, total.rate if total else 0.0)


def _timings(answers: Answers, span: Span) -> Timings:
    return timings_from(answers, at=span.end, window_seconds=span.seconds)


def _counterpart(table: StageTable, before: tuple[StageTable, ...]) -> StageTable | None:
    """The same version in the baseline, or the busiest other: what a new version is compared with."""
    same = [other for other in before if other.model == table.model]
    exact = [other for other in same if other.version == table.version]
    return max(exact or same, key=lambda other: other.request.rate, default=None)
