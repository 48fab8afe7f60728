"""A user's own `alertmanager.yml`, which our receivers, routes and inhibitions are merged into.

Only what the merge needs is checked here; amtool checks the rest. No finding shows a value: it may be secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tritonobs.errors import FileUnusable
from tritonobs.files import read_bytes
from tritonobs.findings import Finding, Place
from tritonobs.spec.reading import read_document
from tritonobs.spec.receivers import OwnAlertmanager
from tritonobs.spec.source import Source
from tritonobs.spec.syntax import decode, syntax_finding

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 4 * 1024 * 1024
_LISTS = ("receivers", "inhibit_rules", "templates")


def read_alertmanager(path: Path) -> tuple[OwnAlertmanager | None, tuple[Finding, ...]]:
    """The file at `path`, or what is wrong with it; never raises for what it holds."""
    try:
        data = read_bytes(path, most=MAX_BYTES)
    except FileUnusable as error:
        return None, (_finding(path, error.reason),)
    text, findings = decode(data, str(path))
    config: Any = None
    try:
        # Our own reader first: it bounds depth and aliases before YAML's loader makes values of them.
        findings = findings or read_document(text, str(path)).findings
        if not findings:
            # With types, because it is written out again: `send_resolved: false` must not become a text.
            config = yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader)
            findings = list(_shape(read_document(text, str(path)), config))
    except yaml.YAMLError as error:
        findings = [syntax_finding(error, text, str(path))]
    except ValueError:  # For one, a date that does not exist.
        findings = [_finding(path, "holds a value that YAML does not allow")]
    if findings:
        return None, tuple(findings)
    return OwnAlertmanager(folder=path.resolve().parent, config=config), ()


def _shape(source: Source, config: object) -> Iterator[Finding]:
    if not isinstance(config, Mapping):
        yield source.finding((), "is not a mapping; allowed is Alertmanager's configuration")
        return
    for name in _LISTS:
        if not isinstance(config.get(name, []), list):
            yield source.finding((name,), "is not a list")
    receivers = config.get("receivers", [])
    for position, receiver in enumerate(receivers if isinstance(receivers, list) else ()):
        if not isinstance(receiver, Mapping) or not receiver.get("name"):
            yield source.finding(("receivers", position), "has no name")
    route = config.get("route")
    if not isinstance(route, Mapping) or not route.get("receiver"):
        yield source.finding(("route",), "has no receiver; Alertmanager needs one for what no route takes")
    elif not isinstance(route.get("routes", []), list):
        yield source.finding(("route", "routes"), "is not a list")


def _finding(path: Path, message: str) -> Finding:
    return Finding(place=Place(file=str(path)), path="", message=message)
