"""The `rules:` section of fleet.yaml: series that the rules read, severities and thresholds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from tritonobs import assets, names
from tritonobs.findings import found, listed
from tritonobs.section import MOST_BOUNDS, LabelName, Section
from tritonobs.spec.values import (
    SHARES,
    Duration,
    bounded_duration,
    bounded_number,
    bounded_share,
    number_schema,
)

Severity = Literal["critical", "warning", "info", "none"]
Tier = Literal["all", "shard", "global"]
TRITON: Final = 'job="triton"'
SERVE: Final = 'job="tritonobs"'
TRACES: Final = 'job="tritonobs-traces"'

_AS_TEXT, _AS_SHARE = frozenset({"keep", "kept"}), frozenset({"share", "small_share"})

_VALUE = r'"(?:[^"\\\n]|\\.)*"'
_MATCHER = rf"[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*{_VALUE}"
_SELECTOR = re.compile(rf"{_MATCHER}(?:\s*,\s*{_MATCHER})*")


def _selector(value: object) -> str:
    """Matchers of PromQL, without braces."""
    text = value.strip() if isinstance(value, str) else ""
    # Alerts repeat it in their texts, which are templates.
    if not _SELECTOR.fullmatch(text) or "{{" in text or "`" in text:
        allowed = 'allowed are matchers of PromQL without braces, like job="triton", namespace="models"'
        raise ValueError(f"found {found(value)}; {allowed}")
    return text


Selector = Annotated[
    str, BeforeValidator(_selector), WithJsonSchema({"type": "string", "examples": [TRITON]})
]


def _pattern(value: object) -> str:
    """A regular expression that can stand between quotes."""
    text = value if isinstance(value, str) else ""
    try:
        usable = bool(text) and not set('"\\\n`%') & set(text) and "{{" not in text
        re.compile(text)
    except re.error:
        usable = False
    if not usable:
        raise ValueError(
            f'found {found(value)}; allowed is a regular expression without ", \\, % and line breaks'
        )
    return text


Pattern = Annotated[str, BeforeValidator(_pattern), WithJsonSchema({"type": "string"})]


@dataclass(frozen=True, slots=True)
class Knob:
    """The knob of the mixin that a field sets; its row in a `thresholds.json` has its value and reason."""

    name: str
    as_text: bool = False
    """Whether the mixin wants a duration as text, not its seconds."""
    share: bool = False
    """Whether it is a share of one, which people read in per cent."""


_DURATIONS = WithJsonSchema({"type": "string", "examples": ["100ms", "5m"]})
_NUMBERS = WithJsonSchema(number_schema(Decimal(0), Decimal(1_000_000)))
_KINDS: Final[dict[str, object]] = {
    "share": Annotated[Decimal, bounded_share("1%", "99%"), SHARES],
    "small_share": Annotated[Decimal, bounded_share("0.01%", "50%"), SHARES],
    "times": Annotated[Decimal, bounded_number("1.1", "100"), _NUMBERS],
    "excess": Annotated[Decimal, bounded_number("1", "100"), _NUMBERS],
    "deviations": Annotated[Decimal, bounded_number("0", "20"), _NUMBERS],
    "rate": Annotated[Decimal, bounded_number("0.001", "1000000"), _NUMBERS],
    "count": Annotated[Decimal, bounded_number("1", "1000000", whole=True), _NUMBERS],
    "restarts": Annotated[Decimal, bounded_number("2", "100", whole=True), _NUMBERS],
    "wait": Annotated[Decimal, bounded_duration("1ms", "1h"), _DURATIONS],
    "ahead": Annotated[Decimal, bounded_duration("10m", "12h"), _DURATIONS],
    "kept": Annotated[Decimal, bounded_duration("1h", "1d"), _DURATIONS],
    "keep": Annotated[Decimal, bounded_duration("1s", "1h"), _DURATIONS],
}
"""What a threshold may be, by its `kind` in the table."""


def _thresholds() -> dict[str, Any]:
    """The fields of the tables of thresholds, which the mixin reads, too; extensions have their own."""
    rules = assets.folder("rules")
    tables = [rules / "config" / "thresholds.json", *sorted(rules.glob("extensions/*/thresholds.json"))]
    rows = [row for table in tables for row in json.loads(table.read_text(encoding="utf-8"))]
    for row in rows:
        _require_whole(row)
    return {row["field"]: threshold_field(row) for row in rows if "field" in row}


def _require_whole(row: Mapping[str, Any]) -> str:
    """Where the row is, in words; a `ValueError` where a part is missing that every row has."""
    place = f"thresholds.json, {row.get('knob') or row}"
    for name in ("knob", "value", "why"):
        if name not in row:
            raise ValueError(f"{place}: {name} is missing")
    return place


def threshold_field(row: Mapping[str, Any]) -> tuple[object, object]:
    """The field of the fleet file that sets the threshold of a row, as pydantic takes it.

    Raises:
        ValueError: the row lacks a part, or has a kind that is not known.
    """
    place = _require_whole(row)
    if not row.get("says"):
        raise ValueError(f"{place}: says is missing; a threshold with a field has a sentence")
    name = row.get("kind", "")
    if name not in _KINDS:
        raise ValueError(f"{place}: found kind {found(name)}; allowed is one of {listed(_KINDS)}")
    kind: Any = _KINDS[name]
    knob = Knob(row["knob"], as_text=name in _AS_TEXT, share=name in _AS_SHARE)
    return Annotated[kind | None, knob], Field(default=None, description=row["says"])


class ThresholdsSpec(create_model("_Thresholds", __base__=Section, **_thresholds())):  # type: ignore[misc] # of the table
    """Thresholds of the alerts. A field that is left out has the mixin's value."""


def _alerts() -> tuple[str, ...]:
    """Those of every fleet."""
    pages = {page.stem for page in assets.folder("runbooks").glob("*.md")} - {"README"}
    return tuple(sorted(pages - {*names.SHARD_ALERTS, *names.AGENT_ALERTS}))


ALERTS: Final = _alerts()
"""The alerts of the mixin, without those of shards and agents: each has a runbook of its name."""


def threshold_knobs() -> dict[str, Knob]:
    """The mixin's knob of every field of `thresholds`."""
    return {
        name: next(one for one in info.metadata if isinstance(one, Knob))
        for name, info in ThresholdsSpec.model_fields.items()
    }


class RulesSpec(Section):
    """What the recording and alerting rules are made with."""

    selector: Selector = Field(
        default=TRITON,
        description="Selects the series of Triton and its models: matchers of PromQL without braces.",
    )
    serve_selector: Selector = Field(default=SERVE, description="Selects the series of `tritonobs serve`.")
    traces_selector: Selector = Field(
        default=TRACES, description="Selects the series of the receiver of traces."
    )
    replica_label: LabelName | None = Field(
        default=None,
        description="The label that distinguishes replicas; when left out `pod` in Kubernetes, else "
        "`replica`. Thanos takes `replica` for copies of Prometheus and merges the servers.",
    )
    cluster_label: LabelName = Field(
        default="cluster",
        description="The label that distinguishes clusters in one Prometheus; `none` if targets have none.",
    )
    pool_names: Pattern = Field(
        default=".*triton.*",
        description="The Deployments, StatefulSets and autoscalers that are pools of Triton servers: "
        "a regular expression for their whole name.",
    )
    latency_thresholds: tuple[Duration, ...] = Field(
        default=(),
        max_length=MOST_BOUNDS,
        description="The thresholds that latency SLOs may have; any when left out. Error budgets then read "
        "no other buckets of stages, which are most series of hundreds of servers.",
    )
    tier: Tier = Field(
        default="all",
        description="`all` for one Prometheus. `global` where several share the servers: `build` writes one "
        "that reads their records, and their part in `prometheus/shards`. `shard`: that part alone.",
    )
    keep_firing: bool = Field(
        default=True, description="false for rulers that refuse keep_firing_for (vmalert before 1.87)."
    )
    records_at_once: bool = Field(
        default=True,
        description="false for rulers that write records elsewhere (vmalert, Thanos Ruler with remote "
        "write): a rule then reads those of the previous evaluation. Always false with `prometheus.agents`.",
    )
    severities: dict[str, Severity] = Field(
        default_factory=dict,
        max_length=200,
        description="Alert name to critical, warning, info or none (visible, sent to no receiver).",
    )
    thresholds: ThresholdsSpec = Field(
        default_factory=ThresholdsSpec, description="Thresholds of the alerts."
    )
