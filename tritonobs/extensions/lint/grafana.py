"""Expressions of Grafana's files: panels, variables and annotations of boards, and its own alert rules.

An alert rule that Grafana evaluates itself has a query, and beside it the condition on its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tritonobs.extensions.lint.expression import Expression
from tritonobs.extensions.lint.located import Located, Value, entries, mapping, part, spliced, text_of

MAX_DEPTH: Final = 10
_ASKS: Final = re.compile(r"\s*(label_values|query_result)\s*\(")
_LABEL: Final = re.compile(r"\w+")
_OTHERS: Final = (
    "loki",
    "elastic",
    "influx",
    "cloudwatch",
    "tempo",
    "jaeger",
    "mysql",
    "postgres",
    "graphite",
    "stackdriver",
)
_OPERATORS: Final = {"gt": ">", "lt": "<", "gte": ">=", "lte": "<=", "eq": "==", "ne": "!="}
_MATH = re.compile(r"\s*\$\{?(?P<of>\w+)\}?\s*(?P<op>[<>]=?|[=!]=)\s*(?P<number>\d+(?:\.\d+)?)\s*")
_SERVER_SIDE: Final = ("__expr__", "-100")
"""Grafana's own data source, whose models are conditions."""


def is_board(value: Mapping[str, Value]) -> bool:
    """Whether a mapping is a board: it has panels or rows, and something else that only boards have."""
    if any(mapping(one).get("kind") == "Panel" for one in mapping(value.get("elements")).values()):
        return True
    held = any(isinstance(value.get(key), list) for key in ("panels", "rows"))
    return held and any(
        key in value for key in ("schemaVersion", "templating", "title", "uid", "annotations")
    )


def board_expressions(board: Mapping[str, Value]) -> Iterator[Expression]:
    """Every expression of the board that is PromQL."""
    for row in entries(board.get("rows")):
        yield from _panels(mapping(row).get("panels"), 0)
    yield from _panels(board.get("panels"), 0)
    # An export has the panels of the library beside the board.
    yield from _panels([mapping(one).get("model") for one in mapping(board.get("__elements")).values()], 0)
    yield from _panels([_element(one) for one in mapping(board.get("elements")).values()], 0)
    for variable in entries(mapping(board.get("templating")).get("list")):
        yield from _variable(mapping(variable))
    for annotation in entries(mapping(board.get("annotations")).get("list")):
        held = mapping(annotation)
        expr = held.get("expr")
        if isinstance(expr, Located) and expr.strip() and _prometheus(held):
            yield Expression(text=expr, use="panel", name=text_of(held.get("name")), grafana=True)


def _element(element: Value) -> Mapping[str, Value]:
    """A panel of the second schema of boards (Grafana 12), in the words of the first."""
    held = mapping(mapping(element).get("spec"))
    data = mapping(mapping(held.get("data")).get("spec"))
    queries = [
        mapping(mapping(mapping(one).get("spec")).get("query")) for one in entries(data.get("queries"))
    ]
    shown = mapping(mapping(held.get("vizConfig")).get("spec"))
    return {
        "title": held.get("title"),
        "description": held.get("description"),
        "fieldConfig": shown.get("fieldConfig"),
        "transformations": data.get("transformations"),
        # The kind of data source is `group` in newer releases, and `kind` before.
        "targets": [
            {**mapping(one.get("spec")), "datasource": {"type": one.get("group", one.get("kind"))}}
            for one in queries
        ],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    text: Value
    limits: tuple[float, ...]
    bounded: bool = False


def _panels(panels: Value, depth: int) -> Iterator[Expression]:
    for one in entries(panels) if depth <= MAX_DEPTH else ():
        panel = mapping(one)
        yield from _panels(panel.get("panels"), depth + 1)
        unit, combined = _unit(panel), _combines(panel)
        title, described = text_of(panel.get("title")), text_of(panel.get("description"))
        for each in entries(panel.get("targets")):
            target = mapping(each)
            expr = target.get("expr")
            if not isinstance(expr, Located) or not expr.strip() or not _prometheus(panel, target):
                continue
            legend = text_of(target.get("legendFormat"))
            # What is hidden is shown by what is made of it, in another unit perhaps.
            hidden = target.get("hide") in (True, "true")
            shown = _Unit(text="?", limits=()) if hidden else unit
            yield Expression(
                text=expr,
                use="panel",
                name=title,
                unit=text_of(shown.text),
                unit_text=shown.text if isinstance(shown.text, Located) else None,
                words="\n".join((title, described, legend, _axis(panel))),
                limits=shown.limits,
                settings={
                    "legend": legend,
                    "combined": "yes" if hidden or combined else "",
                    "reduced": _reduced(panel),
                    # Whether nothing else of the panel is written in its unit.
                    "alone": "" if shown.bounded or len(entries(panel.get("targets"))) > 1 else "yes",
                    "described": described,
                },
                grafana=True,
            )


def _combines(panel: Mapping[str, Value]) -> bool:
    """Whether a transformation computes with the results of several queries."""
    return any(mapping(one).get("id") == "calculateField" for one in entries(panel.get("transformations")))


def _reduced(panel: Mapping[str, Value]) -> str:
    """The one calculation by which a panel shows a number of each series, or nothing."""
    calculations = entries(mapping(mapping(panel.get("options")).get("reduceOptions")).get("calcs"))
    return text_of(calculations[0]) if len(calculations) == 1 else ""


def _unit(panel: Mapping[str, Value]) -> _Unit:
    """The unit and the thresholds of a panel; none where overrides or transformations may say otherwise."""
    config = mapping(panel.get("fieldConfig"))
    held = mapping(config.get("defaults"))
    if entries(config.get("overrides")) or entries(panel.get("transformations")):
        return _Unit(text="?", limits=())
    text = held.get("unit", panel.get("format") if isinstance(panel.get("format"), str) else None)
    axes = entries(panel.get("yaxes"))
    if text is None and axes:
        text = mapping(axes[0]).get("format")
        right = any(mapping(one).get("yaxis") == 2 for one in entries(panel.get("seriesOverrides")))  # noqa: PLR2004 (the right axis)
        if right:
            return _Unit(text="?", limits=())
    thresholds = mapping(held.get("thresholds"))
    steps = entries(thresholds.get("steps")) if thresholds.get("mode", "absolute") == "absolute" else []
    limits = [mapping(step).get("value") for step in steps]
    numbers = tuple(
        float(one) for one in limits if isinstance(one, (int, float)) and not isinstance(one, bool)
    )
    ends = (*(held.get(key) for key in ("min", "max")), mapping(axes[0]).get("max") if axes else None)
    return _Unit(text=text or "", limits=numbers, bounded=any(one not in (None, 0, "0") for one in ends))


def _axis(panel: Mapping[str, Value]) -> str:
    axes = [text_of(mapping(axis).get("label")) for axis in entries(panel.get("yaxes"))[:1]]
    custom = mapping(mapping(mapping(panel.get("fieldConfig")).get("defaults")).get("custom"))
    return " ".join([*axes, text_of(custom.get("axisLabel"))])


def _variable(variable: Mapping[str, Value]) -> Iterator[Expression]:
    query = variable.get("query")
    if isinstance(query, dict):
        query = query.get("query")
    if variable.get("type") != "query" or not isinstance(query, Located) or not _prometheus(variable):
        return
    asks, end = _ASKS.match(query), len(query.rstrip()) - 1
    if not asks or not query.endswith(")", 0, end + 1):
        return
    label = ""
    if asks[1] == "label_values":
        comma = query.rfind(",", asks.end(), end)
        label, end = query[comma + 1 : end].strip(), comma
        if comma < 0 or not _LABEL.fullmatch(label):
            return
    written = query[asks.end() : end]
    if not written.strip():
        return
    start = asks.end() + len(written) - len(written.lstrip())
    yield Expression(
        text=part(query, start, start + len(written.strip())),
        use="variable",
        name=text_of(variable.get("name")),
        settings={"label": label},
        grafana=True,
        begin=query.place()[0],
    )


def _prometheus(*held: Mapping[str, Value]) -> bool:
    """Whether the data source may be Prometheus: it is not said to be something else."""
    sources = [one.get("datasource") for one in held]
    kinds = [text_of(mapping(source).get("type")) or text_of(source) for source in sources]
    return not any(other in kind.lower() for kind in kinds for other in _OTHERS)


def is_library(value: Mapping[str, Value]) -> bool:
    """Whether a mapping is a panel of the library, as Grafana's API gives it."""
    return value.get("kind") in (1, "1") and isinstance(mapping(value.get("model")).get("targets"), list)


def library_expressions(value: Mapping[str, Value]) -> Iterator[Expression]:
    """Every expression of a panel of the library that is PromQL."""
    return _panels([value.get("model")], 0)


def is_rule(value: Mapping[str, Value]) -> bool:
    """Whether a mapping is such a rule, in files of provisioning, in exports, or in an operator's object."""
    return "condition" in value and any("model" in mapping(one) for one in entries(value.get("data")))


def rule_expressions(rule: Mapping[str, Value]) -> Iterator[Expression]:
    """Each query of the rule that is PromQL, with the comparison that Grafana makes of it."""
    data = [mapping(one) for one in entries(rule.get("data"))]
    models = {text_of(one.get("refId")): mapping(one.get("model")) for one in data}
    own = {text_of(one.get("refId")) for one in data if text_of(one.get("datasourceUid")) in _SERVER_SIDE}
    for name, model in models.items():
        expr = model.get("expr")
        if name in own or not isinstance(expr, Located) or not expr.strip() or not _prometheus(model):
            continue
        condition = _condition(models, text_of(rule.get("condition")), name)
        # Grafana has an alert of its own for a query without a result, unless this says otherwise.
        silent = text_of(rule.get("noDataState")).lower() in ("ok", "keeplast")
        title = text_of(rule.get("title"))
        yield Expression(
            text=_compared(expr, *condition) if condition else expr,
            use="alert",
            name=title,
            words="\n".join([title, *map(text_of, mapping(rule.get("annotations")).values())]),
            settings={
                # What the engine adds to the labels of the result.
                "adds": "alertname grafana_folder",
                "for": text_of(rule.get("for")),
                "watched": "" if silent else "yes",
            },
            grafana=True,
        )


def _condition(models: Mapping[str, Mapping[str, Value]], name: str, query: str) -> tuple[str, Value] | None:
    """The one comparison that leads from the rule's condition to a query; None where it is not so plain.

    An operator and a number, which may have a place in the file.
    """
    model = models.get(name, {})
    kind = text_of(model.get("type"))
    if kind == "math":
        made = _MATH.fullmatch(text_of(model.get("expression")))
        if made and _leads(models, made["of"], query):
            return made["op"], made["number"]
        return None
    conditions = entries(model.get("conditions"))
    if kind not in ("threshold", "classic_conditions") or len(conditions) != 1:
        return None
    held = mapping(conditions[0])
    asked = entries(mapping(held.get("query")).get("params"))
    of = text_of(model.get("expression")) if kind == "threshold" else text_of(asked[0]) if asked else ""
    evaluator = mapping(held.get("evaluator"))
    op, numbers = _OPERATORS.get(text_of(evaluator.get("type"))), entries(evaluator.get("params"))
    if not op or not numbers or not _leads(models, of, query):
        return None
    return op, numbers[0]


def _leads(models: Mapping[str, Mapping[str, Value]], name: str, query: str) -> bool:
    """Whether this is the query, or what is reduced of it."""
    model = models.get(name, {})
    reduced = text_of(model.get("type")) == "reduce" and text_of(model.get("expression")) == query
    return name == query or reduced


def _compared(expr: Located, op: str, number: Value) -> Located:
    pieces = [
        ("(", None),
        (str(expr), expr),
        # Behind a remark, too.
        (f"\n) {op} ", None),
        (str(number), number if isinstance(number, Located) else None),
    ]
    return spliced(pieces, expr)
