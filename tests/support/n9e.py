"""Nightingale's two importers of alerts, and how it fills their texts, as tables.

Facts: `models/prom_alert_rule.go`, `models/alert_rule.go` (`FE2DB`, `Verify`), `pkg/tplx` and
`center/router/router_alert_rule.go` of github.com/ccfos/nightingale, August 2026.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEPT = {
    *(
        "name",
        "note",
        "prod",
        "cate",
        "disabled",
        "severity",
        "prom_ql",
        "prom_eval_interval",
        "cron_pattern",
    ),
    *("prom_for_duration", "recover_duration", "rule_config", "notify_recovered", "notify_repeat_step"),
    *("notify_max_number", "notify_version", "notify_rule_ids", "runbook_url", "append_tags", "annotations"),
    *("datasource_queries", "enable_in_bg", "delay"),
}
"""Fields of its rules; what has another name is dropped without a word."""
SEVERITIES = {"critical": 1, "error": 1, "fatal": 1, "page": 1, "sev1": 1}
SEVERITIES |= {"warning": 2, "warn": 2, "sev2": 2, "info": 3, "notice": 3, "sev3": 3}
_GO_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+")
_UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A rule as it stands in the database."""

    name: str
    severity: int
    query: str
    interval_seconds: int
    for_seconds: int
    recover_seconds: int = 0
    disabled: int = 0
    tags: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    runbook: str = ""
    data_sources: tuple[str, ...] = ("*",)
    notify_rules: tuple[int, ...] = ()


def convert_interval(text: str) -> int:
    """`convertInterval`: Go's durations know no days; what is none or zero is a minute."""
    if not _GO_DURATION.fullmatch(text):
        return 60
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    return int(sum(Decimal(number) * _UNITS[unit] for number, unit in parts)) or 60


def import_prometheus(text: str) -> list[Kept]:
    """What becomes of a rules file of Prometheus: `import-prom-rule`."""
    kept: list[Kept] = []
    for group in yaml.safe_load(text)["groups"]:
        for rule in group["rules"]:
            if not rule.get("alert") or rule["alert"] in {one.name for one in kept}:
                continue
            labels = dict(rule.get("labels", {}))
            kept.append(
                Kept(
                    name=rule["alert"],
                    severity=SEVERITIES.get(labels.pop("severity", ""), 2),
                    query=rule["expr"],
                    interval_seconds=convert_interval(group.get("interval", "60s")),
                    for_seconds=convert_interval(rule.get("for", "")),
                    tags=tuple(f"{name}={value}".replace(" ", "") for name, value in labels.items()),
                    annotations=rule.get("annotations", {}),
                )
            )
    return kept


def import_own(text: str) -> tuple[list[Kept], dict[str, str]]:
    """What becomes of its own JSON: the rules, and the error of each that is refused."""
    kept: dict[str, Kept] = {}
    refused: dict[str, str] = {}
    for rule in json.loads(text):
        name = rule.get("name", "").strip()
        why = _refused(rule, name, kept)
        if why:
            refused[name] = why
            continue
        # An expression at the top takes the place of rule_config.
        queries = rule["rule_config"]["queries"]
        if rule.get("prom_ql"):
            queries = [{"prom_ql": rule["prom_ql"], "severity": rule["severity"]}]
        kept[name] = Kept(
            name=name,
            severity=queries[0]["severity"],
            query=queries[0]["prom_ql"],
            interval_seconds=int(rule["cron_pattern"].removeprefix("@every ").removesuffix("s")),
            for_seconds=rule.get("prom_for_duration", 0),
            recover_seconds=rule.get("recover_duration", 0),
            disabled=rule.get("disabled", 0),
            tags=tuple(one.replace(" ", "") for one in rule.get("append_tags", ())),
            annotations=rule.get("annotations", {}),
            runbook=rule.get("runbook_url", ""),
            data_sources=_data_sources(rule.get("datasource_queries", ())),
            notify_rules=tuple(rule.get("notify_rule_ids", ())) if rule.get("notify_version") else (),
        )
    return list(kept.values()), refused


def _data_sources(queries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Names of those it asks; without any, and with `match_type` 2, all."""
    kinds = {query["match_type"] for query in queries}
    return ("*",) if not queries or kinds == {2} else tuple(queries[0]["values"])


def _refused(rule: Mapping[str, Any], name: str, kept: Mapping[str, Kept]) -> str:
    keys = [tag.partition("=")[0] for tag in rule.get("append_tags", ())]
    wrong = {
        "name is blank": not name,
        "Name has invalid characters": bool(re.search(r"[<>&'\"`]", name)),
        "AlertRule already exists": name in kept,
        "AppendTags invalid": any("=" not in tag for tag in rule.get("append_tags", ())),
        "AppendTags has duplicate key": len(keys) != len(set(keys)),
        "rule_config is blank": not rule.get("rule_config") and not rule.get("prom_ql"),
        "invalid cron pattern": not re.fullmatch(r"@every [1-9]\d*s", rule.get("cron_pattern", "")),
    }
    whole = ("prom_for_duration", "recover_duration", "prom_eval_interval", "severity", "disabled")
    wrong |= {f"{key} is no whole number": not isinstance(rule.get(key, 0), int) for key in whole}
    return next((why for why, so in wrong.items() if so), "")


# --- texts: Go's text/template with its own functions ---

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+)')
_ACTION = re.compile(r'\{\{((?:"(?:[^"\\]|\\.)*"|[^"}]|\}(?!\}))*)\}\}')
FUNCTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "humanize": (("text",), "text"),
    "humanizeDuration": (("text",), "text"),
    "humanizePercentage": (("text",), "text"),
    "toString": (("any",), "text"),
    "toTime": (("any",), "time"),
    "jsonMarshal": (("any",), "text"),
    "query": (("text",), "rows"),
    "first": (("rows",), "row"),
    "value": (("row",), "number"),
    "label": (("text", "row"), "text"),
    "printf": (("text", "any"), "text"),
    "print": (("...",), "text"),
    "urlquery": (("...",), "text"),
    "or": (("...",), "any"),
    "gt": (("any", "any"), "truth"),
}
"""Of each function what it takes and gives; `...` is anything, any number of times."""


def misread(text: str) -> list[str]:
    """Why it shows an error in place of the text; nothing when it fills it."""
    dots = ["event"]
    found: list[str] = []
    for action in _ACTION.findall(text):
        word, _, rest = action.strip().partition(" ")
        try:
            if word in ("with", "range"):
                kind = _pipeline(list(_tokens(rest)), dots[-1])
                dots.append("row" if word == "range" else kind)
            elif word == "if":
                _pipeline(list(_tokens(rest)), dots[-1])
                dots.append(dots[-1])
            elif word == "end":
                dots.pop()
            elif word != "else":
                _pipeline(list(_tokens(action)), dots[-1])
        except ValueError as error:
            found.append(f"{action.strip()}: {error}")
            if word in ("with", "range"):
                dots.append("any")
    return found


def _tokens(action: str) -> Iterator[str]:
    yield from _TOKEN.findall(action.strip())


def _pipeline(tokens: list[str], dot: str) -> str:
    """The kind of a pipeline; consumes it up to the parenthesis that ends it."""
    piped: str | None = None
    while True:
        words: list[tuple[str, str]] = []
        while tokens and tokens[0] not in ("|", ")"):
            token = tokens.pop(0)
            if token == "(":
                words.append(("", _pipeline(tokens, dot)))
                tokens.pop(0)
            else:
                words.append((token, _kind(token, dot)))
        piped = _call(words, piped)
        if not tokens or tokens.pop(0) == ")":
            if piped is None:
                raise ValueError("nothing to show")
            if tokens or not words:
                tokens.insert(0, ")")
            return piped


def _kind(token: str, dot: str) -> str:
    if token.startswith(('"', "$labels.", ".Labels.")) or token == "$value":
        return "text"
    if token == ".":
        return dot
    return "number" if re.fullmatch(r"\d+(\.\d+)?", token) else "function"


def _call(words: list[tuple[str, str]], piped: str | None) -> str:
    (name, kind), *rest = words
    if kind != "function":
        return kind
    if name not in FUNCTIONS:
        raise ValueError(f"function {name} not defined")
    takes, gives = FUNCTIONS[name]
    given = [kind for _, kind in rest] + ([piped] if piped else [])
    if takes != ("...",):
        if len(given) != len(takes):
            raise ValueError(f"{name} takes {len(takes)} values, not {len(given)}")
        for want, have in zip(takes, given, strict=True):
            if want not in ("any", have) and have != "any":
                raise ValueError(f"{name} takes {want}, not {have}")
        if name == "printf" and "%q" in rest[0][0]:
            raise ValueError("printf leaves a text with digits as it is")
    return gives
