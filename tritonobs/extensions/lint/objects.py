"""Expressions of documents: rules, scalers, adapters and routes, wherever in a document they stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from tritonobs.extensions.lint.catalogue import catalogue
from tritonobs.extensions.lint.expression import Expression, Use, seconds_of
from tritonobs.extensions.lint.grafana import (
    board_expressions,
    is_board,
    is_library,
    is_rule,
    library_expressions,
    rule_expressions,
)
from tritonobs.extensions.lint.located import (
    Located,
    Unreadable,
    Value,
    entries,
    mapping,
    part,
    read_json,
    read_yaml,
    spliced,
    text_of,
)

MAX_DEPTH: Final = 60
TEMPLATE = re.compile(r"\{\{|\{%")
_EMBEDDED = re.compile(
    r'\A\s*\{|^[ \t]*"?(?:groups|rules|route|triggers|panels|- seriesQuery)"?[ \t]*:', re.MULTILINE
)
_OBJECT: Final = re.compile(r'\s*\{\s*"\w+"\s*:')
_TARGETS: Final = ("averageValue", "value", "targetAverageValue", "targetValue")
_ADAPTED = re.compile(r"<<-?[^<>]*?\.(\w+)[^<>]*>>")
# Other conditions may stand beside those that the adapter writes, and texts around values.
_INSTEAD: Final = {
    "LabelMatchers": 'namespace!=""',
    "GroupBy": "namespace",
    "GroupBySlice": "namespace",
    "LabelValuesByName": "v",
}
_VMALERT: Final = frozenset(("type", "concurrency", "params", "headers", "notifier_headers", "eval_offset"))
"""Keys of a group that only vmalert has."""
_NOT_METRICS: Final = ("graphite", "vlogs")
_MANAGED = re.compile(r"prometheus\.googleapis\.com\|([\w:]+)\|")
_SERIES_NAME = re.compile(r"\s*([A-Za-z_:][\w:]*)")
_ALERTNAME = re.compile(r"\balertname\s*(=~|=)\s*\"?([^\",}]+)\"?")


@dataclass(slots=True)
class Found:
    """What files hold: expressions, names of alerts and records, routes to alerts, and templates."""

    expressions: list[Expression] = field(default_factory=list)
    alerts: set[str] = field(default_factory=set)
    records: set[str] = field(default_factory=set)
    routes: list[tuple[Located, str, bool]] = field(default_factory=list)
    templates: list[Located] = field(default_factory=list)


def read_documents(text: Located, found: Found) -> None:
    """Everything in a text of JSON or YAML.

    Raises:
        Unreadable: it is neither.
    """
    if text.lstrip().startswith(("{", "[")):
        try:
            documents = [read_json(text)]
        except Unreadable as error:
            # YAML may begin with a bracket, too: a template, or a flow mapping.
            if TEMPLATE.match(text.lstrip()):
                raise
            try:
                documents = list(read_yaml(text))
            except Unreadable:
                raise error from None
    else:
        documents = list(read_yaml(text))
    for document in documents:
        _Walk(found).value(document, 0)


def _interval(value: Mapping[str, Value], outer: str) -> str:
    """The interval of the rules below: the shortest of a file's groups, else that of a group, else `outer`.

    Some groups of a file are evaluated less often than servers are scraped.
    """
    groups = value.get("groups")
    if isinstance(groups, list):
        return min((text_of(mapping(one).get("interval")) for one in groups), key=seconds_of, default=outer)
    if isinstance(value.get("rules"), list) and not outer:
        return text_of(value.get("interval"))
    return outer


def _holds_file(text: Located) -> bool:
    """Whether a text may be a file of rules or a board; JSON may be written in one line."""
    return bool(_EMBEDDED.search(text[:4000]) if "\n" in text else _OBJECT.match(text))


class _Walk:
    """One pass over a document."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._interval, self._prometheus = "", True

    def value(self, value: Value, depth: int) -> None:
        """The value and everything below it."""
        if depth > MAX_DEPTH:
            return
        if isinstance(value, dict):
            self.mapping(value, depth)
        elif isinstance(value, list):
            for one in value:
                self.value(one, depth + 1)
        elif isinstance(value, Located) and _holds_file(value):
            # A file within a text, as ConfigMaps hold them; other texts are ignored.
            with suppress(Unreadable):
                read_documents(value, self._found)

    def mapping(self, value: Mapping[str, Value], depth: int) -> None:
        """A mapping, by the keys that it has."""
        if is_board(value):
            self._found.expressions += board_expressions(value)
        elif is_library(value):
            self._found.expressions += library_expressions(value)
        elif is_rule(value):
            found = list(rule_expressions(value))
            self._found.alerts |= {one.name for one in found}
            self._found.expressions += found
        elif "expr" in value and ("alert" in value or "record" in value):
            self.rule(value)
        elif "metricsQuery" in value and "seriesQuery" in value:
            self.adapted(value)
        elif value.get("type") == "prometheus" and isinstance(
            mapping(value.get("metadata")).get("query"), Located
        ):
            self.trigger(value)
        elif value.get("kind") == "HorizontalPodAutoscaler":
            self.scaled(value)
        else:
            self.below(value, depth)

    def below(self, value: Mapping[str, Value], depth: int) -> None:
        """Everything below any other mapping, such as a group of rules."""
        grouped = isinstance(value.get("rules"), list)
        if grouped and value.get("type") in _NOT_METRICS:
            return
        self.route(mapping(value.get("route")), 0)
        outer, prometheus = self._interval, self._prometheus
        self._interval = _interval(value, outer)
        if value.get("kind") == "VMRule" or (grouped and not _VMALERT.isdisjoint(value)):
            self._prometheus = False
        for below in value.values():
            self.value(below, depth + 1)
        self._interval, self._prometheus = outer, prometheus

    def rule(self, value: Mapping[str, Value]) -> None:
        """A rule of Prometheus or VictoriaMetrics."""
        expr = value["expr"]
        use: Use = "alert" if "alert" in value else "record"
        named = value[use]
        name = text_of(named)
        (self._found.alerts if use == "alert" else self._found.records).add(name)
        if not isinstance(expr, Located):
            return
        if TEMPLATE.search(expr):
            self._found.templates.append(expr)
            return
        words = [name, *map(text_of, mapping(value.get("annotations")).values())]
        self._found.expressions.append(
            Expression(
                text=expr,
                use=use,
                name=name,
                words="\n".join(words),
                settings={
                    "interval": self._interval,
                    "labels": " ".join(mapping(value.get("labels"))),
                    # vmalert reads more than PromQL, and adds labels to a result.
                    **({} if self._prometheus else {"dialect": "MetricsQL", "adds": "alertname alertgroup"}),
                    **{key: text_of(value.get(key)) for key in ("for", "keep_firing_for")},
                },
                begin=named.place()[0] if isinstance(named, Located) else 0,
            )
        )

    def trigger(self, value: Mapping[str, Value]) -> None:
        """A Prometheus trigger of KEDA."""
        data = mapping(value["metadata"])
        query = data["query"]
        if TEMPLATE.search(query):
            self._found.templates.append(query)
            return
        settings = {key: one if isinstance(one, str) else str(one).lower() for key, one in data.items()}
        self._found.expressions.append(
            Expression(
                text=query,
                use="scaler",
                name=text_of(data.get("metricName")) or text_of(value.get("name")),
                limits=_numbers(data.get("threshold")),
                settings={"keda": "yes", **settings},
            )
        )

    def adapted(self, value: Mapping[str, Value]) -> None:
        """A rule of prometheus-adapter; its placeholders are written out."""
        query, series = value["metricsQuery"], value["seriesQuery"]
        if not isinstance(query, Located) or not isinstance(series, Located):
            return
        if TEMPLATE.search(query) or TEMPLATE.search(series):
            self._found.templates.append(query)
            return
        named = _SERIES_NAME.match(series)
        name = mapping(value.get("name"))
        label = text_of(name.get("as")) or (named[1] if named else "")
        text = _adapted(query, named[1] if named else "")
        self._found.expressions.append(
            Expression(
                text=text,
                use="scaler",
                name=label,
                words=label,
                settings={"adapter": "yes"},
                begin=series.place()[0],
            )
        )
        if named:
            selected = part(series, named.start(1), len(series))
            self._found.expressions.append(
                Expression(text=selected, use="hpa", name=label, begin=series.place()[0])
            )

    def scaled(self, value: Mapping[str, Value]) -> None:
        """The metrics of a HorizontalPodAutoscaler that name series themselves."""
        for one in entries(mapping(value.get("spec")).get("metrics")):
            held = next((below for below in mapping(one).values() if isinstance(below, dict)), {})
            name = mapping(held.get("metric")).get("name", held.get("metricName"))
            if not isinstance(name, Located):
                continue
            managed = _MANAGED.match(name)
            # A name that only the adapter gives is not a series; a name of the catalogue is one.
            if managed or catalogue().find(name):
                text = part(name, *managed.span(1)) if managed else name
                limits = _quantities(held.get("target", held))
                self._found.expressions.append(
                    Expression(text=text, use="hpa", name=str(text), limits=limits)
                )

    def route(self, value: Mapping[str, Value], depth: int) -> None:
        """The alerts that a route of Alertmanager, and those below it, name."""
        if depth > MAX_DEPTH:
            return
        for kind, regex in (("match", False), ("match_re", True)):
            name = mapping(value.get(kind)).get("alertname")
            if isinstance(name, Located):
                self._found.routes.append((name, name, regex))
        for one in entries(value.get("matchers")):
            if isinstance(one, Located) and (match := _ALERTNAME.search(one)):
                self._found.routes.append((one, match[2].strip(), match[1] == "=~"))
            held = mapping(one)
            wanted, op = held.get("value"), held.get("matchType", "=")
            if held.get("name") == "alertname" and isinstance(wanted, Located) and op in ("=", "=~"):
                self._found.routes.append((wanted, wanted, op == "=~"))
        for below in entries(value.get("routes")):
            self.route(mapping(below), depth + 1)


def _adapted(query: Located, series: str) -> Located:
    """The adapter's query with its placeholders filled in."""
    pieces: list[tuple[str, Located | None]] = []
    at = 0
    for found in _ADAPTED.finditer(query):
        pieces.append((query[at : found.start()], part(query, at, found.start())))
        instead = {"Series": series, **_INSTEAD}.get(found[1], "")
        pieces.append((instead, None))
        at = found.end()
    pieces.append((query[at:], part(query, at, len(query))))
    return spliced(pieces, query)


def _numbers(value: Value) -> tuple[float, ...]:
    try:
        return (float(value),)
    except (TypeError, ValueError):
        return ()


def _quantities(target: Value) -> tuple[float, ...]:
    """What an HPA compares with; `700m` of Kubernetes is 0.7."""
    held = mapping(target)
    written = next((text_of(held.get(key)) for key in _TARGETS if text_of(held.get(key))), "")
    thousandth = written.endswith("m")
    return tuple(one / 1000 if thousandth else one for one in _numbers(written.removesuffix("m")))
