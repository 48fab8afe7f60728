"""Texts of files for `tritonobs lint`, and what it says of them."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tritonobs import cli
from tritonobs.extensions.lint.checks.registry import Settings
from tritonobs.extensions.lint.linter import Linter, Options, Result, fix, lint_files
from tritonobs.extensions.lint.located import Source, whole
from tritonobs.extensions.lint.objects import Found, read_documents

if TYPE_CHECKING:
    from pathlib import Path


def command(*arguments: str) -> tuple[int, str, str]:
    """What `tritonobs lint` ends with, prints, and says beside it."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as during:
        during.setattr(sys, "argv", ["tritonobs", "lint", *arguments])
        with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as ended:
            cli.run()
    return int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue()


def linted(text: str, file: str = "rules.yml", **settings: Any) -> Result:
    """The result of one text that stands in a file of this name."""
    select = frozenset(settings.pop("select", ()))
    linter = Linter(Options(settings=Settings(**settings), select=select))
    linter.read_text(text, file)
    return linter.result()


def ids(text: str, file: str = "rules.yml", **settings: Any) -> set[str]:
    """The ids of what is wrong with one text."""
    return {one.id for one in linted(text, file, **settings).problems}


def fixed(folder: Path, text: str, file: str, select: str = "") -> tuple[set[str], str, str]:
    """What `--fix` makes of a file: the checks that mended it, its first expression then, and the unit."""
    path = folder / file
    path.write_text(text)
    asked = Options(select=frozenset([select] if select else []))
    by = {one.id for one in fix(lint_files([(path, True)], asked).problems)}
    found = Found()
    if path.suffix != ".promql":
        read_documents(whole(Source(file, path.read_text())), found)
    first = next(iter(found.expressions), None)
    return by, str(first.text) if first else path.read_text(), first.unit if first else ""


def alert(expr: str, name: str = "TritonCase", *more: tuple[str, str], **annotations: str) -> tuple[str, str]:
    """A file of one alert, and of more alerts by name and expression."""
    rules = [{"alert": name, "expr": expr, "annotations": annotations}]
    rules += [{"alert": other, "expr": each} for other, each in more]
    return yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}, allow_unicode=True), "rules.yml"


def record(expr: str, name: str = "model:case:sum") -> tuple[str, str]:
    """A file of one record."""
    return yaml.safe_dump({"groups": [{"name": "g", "rules": [{"record": name, "expr": expr}]}]}), "rules.yml"


def panel(
    expr: str, unit: str | None = None, title: str = "A panel", legend: str = "", **more: Any
) -> tuple[str, str]:
    """A board of one panel."""
    config = {"defaults": {} if unit is None else {"unit": unit}}
    config["defaults"] |= more.pop("defaults", {})
    held = {
        "title": title,
        "targets": [{"expr": expr, "legendFormat": legend}],
        "fieldConfig": config,
        **more,
    }
    return json.dumps({"title": "board", "schemaVersion": 39, "panels": [held]}, indent=1), "board.json"


def keda(query: str, **metadata: str) -> tuple[str, str]:
    """A ScaledObject of one trigger."""
    trigger = {"type": "prometheus", "metadata": {"query": query, "threshold": "5", **metadata}}
    return yaml.safe_dump({"kind": "ScaledObject", "spec": {"triggers": [trigger]}}), "scaled.yaml"


def hpa(metric: str, value: str) -> tuple[str, str]:
    """An HPA of one pods metric."""
    held = {"metric": {"name": metric}, "target": {"type": "AverageValue", "averageValue": value}}
    spec = {"metrics": [{"type": "Pods", "pods": held}]}
    return yaml.safe_dump({"kind": "HorizontalPodAutoscaler", "spec": spec}), "hpa.yaml"


def query(expr: str) -> tuple[str, str]:
    """A file of plain PromQL."""
    return expr, "query.promql"
