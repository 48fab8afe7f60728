"""The catalogue: every series of Triton, its backends, dcgm-exporter and tritonobs, by release."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import TypeAdapter

_FILE: Final = Path(__file__).with_name("catalogue.yaml")
_RELEASE = re.compile(r"(\d{2})\.(\d{2})")
_INTRODUCTION: Final = (
    "Every series that `tritonobs lint` knows: what it is, when it exists, what it counts and what not.",
    "`tritonobs/extensions/lint/catalogue.yaml` holds it; `tritonobs lint --catalogue` prints this page.",
    "",
    "`from` and `until` are a series' first and last release; without `from` it is older than 22.01.",
    "Labels in brackets exist on some servers or releases only. Prometheus adds labels of its own.",
)
_PARTS: Final = {
    "histogram": ("_bucket", "_sum", "_count"),
    "summary": ("_sum", "_count"),
}
_OWNED: Final = re.compile(
    r"nv_(inference|gpu|cpu|cache|energy|model|pinned_memory|trt_llm|llm)_\w+"
    r"|triton_?server_(gpu|cpu|memory|infer|inference|request|requests|queue|model|cache)_\w+"
)
"""Names that only a Triton server gives. Others that begin with `nv_` may be a Python model's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Where a series comes from."""

    key: str
    title: str
    labels: tuple[str, ...]
    optional: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One family. `labels` are always there, `optional` ones on some servers; scrape labels come on top."""

    name: str
    group: str
    type: str
    unit: str
    labels: tuple[str, ...]
    optional: tuple[str, ...]
    source: str
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    label_since: Mapping[str, str] = field(default_factory=dict)
    per: str = ""
    kind: str = ""
    cumulative: bool = False
    since: str = ""
    until: str = ""
    instead: str = ""
    exists: str = ""
    counts: str = ""
    never: str = ""

    @property
    def of_model(self) -> bool:
        """Whether Triton itself counts it for each model version."""
        return self.group == "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a name in an expression means: a family, and its part (`_bucket`, `_sum`, `_count` or none)."""

    series: Series
    part: str = ""

    @property
    def counter(self) -> bool:
        """Whether the values only rise until a restart, so that they need `rate` or `increase`."""
        return self.series.type == "counter" or bool(self.part)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that are always there, `le` and `quantile` included."""
        if self.part == "_bucket":
            return (*self.series.labels, "le")
        if self.series.type == "summary" and not self.part:
            return (*self.series.labels, "quantile")
        return self.series.labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Misnamed:
    """A name that no release has, and the one that was meant."""

    name: str
    instead: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All of them."""

    groups: Mapping[str, Group]
    series: Mapping[str, Series]
    misnamed: Mapping[str, Misnamed]

    def find(self, name: str) -> Named | None:
        """The family and part that `name` is, or None for a name that is not in the catalogue."""
        if name in self.series:
            return Named(series=self.series[name])
        for suffix in ("_bucket", "_sum", "_count"):
            family = self.series.get(name.removesuffix(suffix))
            if name.endswith(suffix) and family and suffix in _PARTS.get(family.type, ()):
                return Named(series=family, part=suffix)
        return None

    def foreign(self, name: str) -> bool:
        """Whether a name that is not in the catalogue belongs to something else than Triton."""
        return name not in self.misnamed and not _OWNED.fullmatch(name)

    def meant(self, name: str) -> Misnamed:
        """What was probably meant by a name that does not exist; `instead` is empty if nothing is near."""
        if name in self.misnamed:
            return self.misnamed[name]
        base, _, suffix = name.rpartition("_")
        if suffix in ("total", "bucket", "sum", "count", "created"):
            if base in self.misnamed:
                return self.misnamed[base]
            if base in self.series:
                lacks = "buckets" if suffix == "bucket" else f"_{suffix}"
                why = f"{base} is a {self.series[base].type} and has no {lacks}"
                return Misnamed(name=name, instead=base, why=why)
        ours = re.sub(r"^triton_?server_", "nv_", name)
        near = difflib.get_close_matches(ours, self.series, n=1, cutoff=0.8)
        return Misnamed(name=name, instead=near[0] if near else "", why="no release of Triton has it")


@cache
def catalogue() -> Catalogue:
    """The catalogue as it is in the package."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    held = yaml.load(_FILE.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 (a safe loader)
    groups = {key: {"key": key, "optional": (), **one} for key, one in held["groups"].items()}
    # What a series does not say is as in its group.
    series = {one["name"]: {**groups[one["group"]], **one} for one in held["series"]}
    misnamed = {one["name"]: one for one in held["misnamed"]}
    return TypeAdapter(Catalogue).validate_python({"groups": groups, "series": series, "misnamed": misnamed})


def release(text: str) -> tuple[int, int]:
    """A release of Triton as numbers that compare: `24.07`.

    Raises:
        ValueError: it is not written so.
    """
    found = _RELEASE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a release of Triton; write one like 24.10")
    return int(found[1]), int(found[2])


def markdown() -> str:
    """The page of the catalogue, `docs/triton-series.md`."""
    return "\n".join(_page(catalogue()))


def _page(held: Catalogue) -> Iterator[str]:
    yield "# Series"
    yield ""
    yield from _INTRODUCTION
    for group in held.groups.values():
        yield ""
        yield f"## {group.title}"
        yield ""
        yield f"Source: {group.source}."
        yield ""
        yield "| series | type | unit | labels | release | exists | counts | does not count |"
        yield "|---|---|---|---|---|---|---|---|"
        for one in held.series.values():
            if one.group == group.key:
                yield _row(one)
    yield ""
    yield "## Names that do not exist"
    yield ""
    yield "| written | meant | why |"
    yield "|---|---|---|"
    for wrong in held.misnamed.values():
        yield f"| `{wrong.name}` | `{wrong.instead}` | {wrong.why} |"


def _row(one: Series) -> str:
    optional = [f"[{label}]" for label in one.optional if label not in one.labels]
    labels = " ".join(f"`{label}`" for label in (*one.labels, *optional))
    releases = " ".join(
        f"{word} {text}" for word, text in (("from", one.since), ("until", one.until)) if text
    )
    kind = f"{one.type}, cumulative" if one.cumulative else one.type
    cells = (f"`{one.name}`", kind, one.unit, labels, releases, one.exists, one.counts, one.never)
    return "| " + " | ".join(cells) + " |"
