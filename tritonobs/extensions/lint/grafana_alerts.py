"""Alert rules that Grafana evaluates itself: a query, and beside it the condition on its result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tritonobs.extensions.lint.expression import Expression
from tritonobs.extensions.lint.located import Located, Value, entries, mapping, spliced, text_of

_OPERATORS: Final = {"gt": ">", "lt": "<", "gte": ">=", "lte": "<=", "eq": "==", "ne": "!="}
_MATH = re.compile(r"\s*\$\{?(?P<of>\w+)\}?\s*(?P<op>[<>]=?|[=!]=)\s*(?P<number>\d+(?:\.\d+)?)\s*")
_SERVER_SIDE: Final = ("__expr__", "-100")
"""Grafana's own data source, whose models are conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Condition:
    """What the result of a query is compared with; the number may have a place in the file."""

    op: str
    number: str
    place: Located | None


def is_rule(value: Mapping[str, Value]) -> bool:
    """Whether a mapping is such a rule, in files of provisioning, in exports, or in an operator's object."""
    return "condition" in value and any("model" in mapping(one) for one in entries(value.get("data")))


def expressions(rule: Mapping[str, Value]) -> list[Expression]:
    """Each query of the rule that is PromQL, with the comparison that Grafana makes of it."""
    data = [mapping(one) for one in entries(rule.get("data"))]
    models = {text_of(one.get("refId")): mapping(one.get("model")) for one in data}
    own = {text_of(one.get("refId")) for one in data if text_of(one.get("datasourceUid")) in _SERVER_SIDE}
    found = []
    for name, model in models.items():
        expr = model.get("expr")
        if name in own or not isinstance(expr, Located) or not expr.strip():
            continue
        condition = _condition(models, text_of(rule.get("condition")), name)
        # Grafana has an alert of its own for a query without a result, unless this says otherwise.
        silent = text_of(rule.get("noDataState")).lower() in ("ok", "keeplast")
        title = text_of(rule.get("title"))
        found.append(
            Expression(
                text=_compared(expr, condition) if condition else expr,
                use="alert",
                name=title,
                words="\n".join([title, *map(text_of, mapping(rule.get("annotations")).values())]),
                settings={
                    "for": text_of(rule.get("for")),
                    "watched": "" if silent else "yes",
                },
                grafana=True,
                begin=expr.place()[0],
            )
        )
    return found


def _condition(models: Mapping[str, Mapping[str, Value]], name: str, query: str) -> _Condition | None:
    """The one comparison that leads from the rule's condition to a query; None where it is not so plain."""
    model = models.get(name, {})
    kind = text_of(model.get("type"))
    if kind == "math":
        made = _MATH.fullmatch(text_of(model.get("expression")))
        if made and _leads(models, made["of"], query):
            return _Condition(op=made["op"], number=made["number"], place=None)
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
    number = numbers[0]
    return _Condition(op=op, number=str(number), place=number if isinstance(number, Located) else None)


def _leads(models: Mapping[str, Mapping[str, Value]], name: str, query: str) -> bool:
    """Whether this is the query, or what is reduced of it."""
    model = models.get(name, {})
    reduced = text_of(model.get("type")) == "reduce" and text_of(model.get("expression")) == query
    return name == query or reduced


def _compared(expr: Located, condition: _Condition) -> Located:
    pieces = [
        ("(", None),
        (str(expr), expr),
        # Behind a remark, too.
        (f"\n) {condition.op} ", None),
        (condition.number, condition.place),
    ]
    return spliced(pieces, expr)
