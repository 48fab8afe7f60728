"""What may be written in the OpenSLO v1 documents that a fleet file names.

tritonobs measures every SLI with the same generic rules, so a document says *what* to measure with a metric
source of type `tritonobs` instead of a query of its own:

    indicator: {spec: {ratioMetric: {good: {metricSource: {type: tritonobs, spec: {model: m}}}, total: {…}}}}
    indicator: {spec: {thresholdMetric: {metricSource: {type: tritonobs, spec: {model: m, stage: total}}}}}

A ratio is the share of requests answered without an error; a threshold is the latency of a stage in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tritonobs.spec.section import Section
from tritonobs.spec.values import Duration, Name, Objective, Seconds, Version

if TYPE_CHECKING:
    from tritonobs.spec.source import Source, Step


class Metadata(Section):
    """What every OpenSLO object is called."""

    name: Name
    display_name: str = Field(default="", alias="displayName")
    labels: dict[str, Any] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class Measured(Section):
    """What a metric source of type `tritonobs` measures; `model` is the SLO's service when left out."""

    model: Name | None = None
    version: Version | None = None
    stage: Name | None = None


class MetricSource(Section):
    """Where a number comes from."""

    type: Literal["tritonobs"]
    spec: Measured = Field(default_factory=Measured)
    source_ref: str = Field(default="", alias="metricSourceRef")


class Metric(Section):
    """One series of an indicator."""

    source: MetricSource = Field(alias="metricSource")


class RatioMetric(Section):
    """Good (or bad) of all requests."""

    counter: bool = True
    good: Metric | None = None
    bad: Metric | None = None
    total: Metric


class IndicatorSpec(Section):
    """An SLI: one of the two."""

    description: str = ""
    ratio: RatioMetric | None = Field(default=None, alias="ratioMetric")
    threshold: Metric | None = Field(default=None, alias="thresholdMetric")


class Indicator(Section):
    """An SLI inside an SLO, or an object of its own."""

    api_version: str = Field(default="openslo/v1", alias="apiVersion")
    kind: str = "SLI"
    metadata: Metadata | None = None
    spec: IndicatorSpec


class TimeWindow(Section):
    """The span the objective is promised over."""

    duration: Duration
    is_rolling: Literal["true"] = Field(default="true", alias="isRolling")


class ObjectiveSpec(Section):
    """The promised share, and for latency the threshold in seconds."""

    display_name: str = Field(default="", alias="displayName")
    op: Literal["lte"] | None = None
    value: Seconds | None = None
    target: Objective | None = None
    target_percent: Decimal | None = Field(default=None, alias="targetPercent", gt=0, lt=100)


class SloBody(Section):
    """The body of an SLO."""

    description: str = ""
    service: Name
    indicator: Indicator | None = None
    indicator_ref: Name | None = Field(default=None, alias="indicatorRef")
    time_window: tuple[TimeWindow, ...] = Field(default=(), alias="timeWindow", max_length=1)
    budgeting_method: Literal["Occurrences"] = Field(default="Occurrences", alias="budgetingMethod")
    objectives: tuple[ObjectiveSpec, ...] = Field(min_length=1)
    alert_policies: tuple[Any, ...] = Field(default=(), alias="alertPolicies")


class SloDocument(Section):
    """An SLO document."""

    api_version: Literal["openslo/v1"] = Field(alias="apiVersion")
    kind: Literal["SLO"]
    metadata: Metadata
    spec: SloBody


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSlo:
    """One objective of an OpenSLO document; with `target` it is about latency."""

    name: str
    model: str
    version: str
    objective: Decimal
    source: Source
    path: tuple[Step, ...]
    model_path: tuple[Step, ...]
    version_path: tuple[Step, ...]
    target: Decimal | None = None
    stage: str = ""
    period: Decimal | None = None
