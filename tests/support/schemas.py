"""Schemas of an API server, with the kinds that it was taught, as kubeconform reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def write_schemas(api: dict[str, Any], folder: Path) -> None:
    """One file a kind, each with what it needs of the API server's own description."""
    folder.mkdir()
    definitions = _strict(api["definitions"])
    (folder / "all.json").write_text(json.dumps({"definitions": definitions}))
    for name, definition in api["definitions"].items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            suffix = f"-{kind['group'].split('.')[0]}" if kind["group"] else ""
            file = folder / f"{kind['kind'].lower()}{suffix}-{kind['version']}.json"
            file.write_text(json.dumps({"$ref": f"all.json#/definitions/{name}"}))


def _strict(value: Any) -> Any:
    """Without fields that nobody knows, as the API server's strict validation."""
    if isinstance(value, list):
        return [_strict(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _strict(one) for key, one in value.items()}
    if isinstance(made.get("properties"), dict) and "type" in made and "additionalProperties" not in made:
        made["additionalProperties"] = bool(made.get("x-kubernetes-preserve-unknown-fields"))
    if made.get("x-kubernetes-int-or-string") or made.get("format") == "int-or-string":
        made.pop("type", None)
    if "$ref" in made and str(made["$ref"]).startswith("#"):
        made["$ref"] = f"all.json{made['$ref']}"
    return made
