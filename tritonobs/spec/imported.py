"""SLOs from OpenSLO documents: files → what each document promises, every problem with its place."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

import yaml
from pydantic import ValidationError

from tritonobs.findings import Finding, Place, Severity
from tritonobs.spec.openslo import ImportedSlo, Indicator, Measured, SloDocument
from tritonobs.spec.problems import schema_finding
from tritonobs.spec.reading import read_documents
from tritonobs.spec.section import Section
from tritonobs.spec.syntax import decode, syntax_finding
from tritonobs.spec.words import found, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tritonobs.spec.openslo import IndicatorSpec, ObjectiveSpec
    from tritonobs.spec.source import Source, Step

_UNUSED = ("Service", "DataSource", "AlertPolicy", "AlertCondition", "AlertNotificationTarget")
_KINDS = ("SLO", "SLI", *_UNUSED)
AnySection = TypeVar("AnySection", bound=Section)


class OpenSloReader:
    """Collects what the documents of several files promise, and what is wrong with them."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._slos: list[tuple[SloDocument, Source]] = []
        self._indicators: dict[str, Indicator] = {}

    def read_file(self, path: Path) -> None:
        """Take in one file."""
        try:
            text, findings = decode(path.read_bytes(), str(path))
            sources = () if findings else read_documents(text, str(path))
        except OSError as error:
            findings = [
                Finding(place=Place(file=str(path)), path="", message=f"cannot be read: {error.strerror}")
            ]
            sources = ()
        except yaml.YAMLError as error:
            findings, sources = [syntax_finding(error, text, str(path))], ()
        self.findings += findings
        if sources:
            self.findings += sources[0].findings
        for source in sources:
            self._take(source)

    def slos(self) -> Iterator[ImportedSlo]:
        """Every sound objective; what is not is a finding."""
        for document, source in self._slos:
            indicator = self._indicator(document, source)
            mistake = _indicator_mistake(indicator.spec) if indicator else ""
            if mistake:
                self._say(source, ("spec", "indicator"), mistake)
            elif indicator:
                yield from self._objectives(document, indicator.spec, source)

    def _take(self, source: Source) -> None:
        value = source.value()
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "SLO":
            document = self._parsed(SloDocument, source)
            if document:
                self._slos.append((document, source))
                if document.spec.alert_policies:
                    message = "is not used: every SLO has the same burn-rate alerts"
                    path = ("spec", "alertPolicies")
                    self.findings.append(source.finding(path, message, key=True, severity=Severity.INFO))
        elif kind == "SLI":
            indicator = self._parsed(Indicator, source)
            if indicator and indicator.metadata:
                self._indicators[indicator.metadata.name] = indicator
        elif kind not in _UNUSED:
            message = f"found {found(kind)}; allowed are {', '.join(_KINDS)}"
            self._say(source, ("kind",), message, hint=nearest(str(kind), _KINDS))

    def _parsed(self, schema: type[AnySection], source: Source) -> AnySection | None:
        try:
            return schema.model_validate(source.value())
        except ValidationError as error:
            for one in error.errors(include_url=False):
                self.findings.append(schema_finding(one, source, schema))
            return None

    def _indicator(self, document: SloDocument, source: Source) -> Indicator | None:
        name = document.spec.indicator_ref
        if (name is None) == (document.spec.indicator is None):
            self._say(source, ("spec",), "needs either indicator or indicatorRef")
            return None
        if name is None:
            return document.spec.indicator
        if name not in self._indicators:
            hint = nearest(name, self._indicators)
            self._say(
                source, ("spec", "indicatorRef"), f"{found(name)} is no SLI of the files read", hint=hint
            )
        return self._indicators.get(name)

    def _objectives(
        self, document: SloDocument, indicator: IndicatorSpec, source: Source
    ) -> Iterator[ImportedSlo]:
        objectives, windows = document.spec.objectives, document.spec.time_window
        metric = indicator.threshold or (indicator.ratio.total if indicator.ratio else None)
        measured = metric.source.spec if metric else Measured()
        indicator_path = ("spec", "indicatorRef" if document.spec.indicator_ref else "indicator")
        for position, objective in enumerate(objectives):
            path: tuple[Step, ...] = ("spec", "objectives", position)
            mistake = _objective_mistake(objective, latency=indicator.threshold is not None)
            if mistake:
                self._say(source, path, mistake)
                continue
            yield ImportedSlo(
                name=document.metadata.name + (f"-{position + 1}" if len(objectives) > 1 else ""),
                model=measured.model or document.spec.service,
                version=measured.version or "",
                objective=objective.target or (objective.target_percent or Decimal(0)) / 100,
                source=source,
                path=path,
                model_path=indicator_path if measured.model else ("spec", "service"),
                version_path=indicator_path,
                target=objective.value,
                stage=measured.stage or "",
                period=windows[0].duration if windows else None,
            )

    def _say(self, source: Source, path: tuple[Step, ...], message: str, *, hint: str = "") -> None:
        self.findings.append(source.finding(path, message, hint=hint))


def read_openslo(files: Iterable[Path]) -> tuple[tuple[ImportedSlo, ...], tuple[Finding, ...]]:
    """What the documents of the files promise, and everything that is wrong with them."""
    reader = OpenSloReader()
    for file in files:
        reader.read_file(file)
    slos = tuple(reader.slos())
    return slos, tuple(reader.findings)


def _indicator_mistake(indicator: IndicatorSpec) -> str:
    if (indicator.ratio is None) == (indicator.threshold is None):
        return "needs either ratioMetric or thresholdMetric"
    if indicator.ratio and (indicator.ratio.good is None) == (indicator.ratio.bad is None):
        return "a ratioMetric needs either good or bad"
    return ""


def _objective_mistake(objective: ObjectiveSpec, *, latency: bool) -> str:
    if (objective.target is None) == (objective.target_percent is None):
        return "needs either target or targetPercent"
    if latency and (objective.value is None or objective.op is None):
        return "a thresholdMetric needs op: lte and a value in seconds"
    if not latency and objective.value is not None:
        return "has a value, which a ratioMetric is not compared with"
    return ""
