"""A fleet file from what was discovered: a commented draft, or what is missing added to an existing file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from tritonobs.discover.survey import FoundModel, FoundReplica, FoundVersion, merged_models
from tritonobs.units import format_latency

_Yaml: TypeAlias = Any
_FLUSH_LIST = re.compile(r"^\w+:[^\n]*\n(?:\s*#[^\n]*\n)*- ", re.MULTILINE)
_HEAD = """A draft made by `tritonobs discover`: what runs, not what should. Check it with: tritonobs validate
Numbers in comments were measured since the models were loaded."""


def draft(replicas: tuple[FoundReplica, ...], *, fleet: str = "fleet") -> str:
    """A new fleet file with everything that was found."""
    body = CommentedMap({"fleet": fleet, "replicas": CommentedSeq(), "models": CommentedMap()})
    body.yaml_set_start_comment(_HEAD)
    _add(body, replicas)
    return _text(body)


def merge(existing: str, replicas: tuple[FoundReplica, ...]) -> tuple[str, tuple[str, ...]]:
    """The file with what it lacks, and what was added; what it says already, comments too, stays as it is.

    Raises:
        ValueError: the text is no YAML mapping.
    """
    try:
        body = _yaml().load(existing)
    except YAMLError as error:
        raise ValueError(f"cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(body, CommentedMap):
        raise ValueError("is no YAML mapping, so no fleet file")  # noqa: TRY004 (a file's content, no argument)
    added = _add(body, replicas)
    return (_text(body, flush_lists=bool(_FLUSH_LIST.search(existing))) if added else existing), added


def _add(body: CommentedMap, replicas: tuple[FoundReplica, ...]) -> tuple[str, ...]:
    return (*_add_replicas(body, replicas), *_add_models(body, replicas))


def _add_replicas(body: CommentedMap, replicas: tuple[FoundReplica, ...]) -> Iterator[str]:
    listed = body.get("replicas")
    if isinstance(listed, CommentedMap):
        return  # The file says how to find them.
    if not isinstance(listed, CommentedSeq):
        listed = body["replicas"] = CommentedSeq()
    known = {str(item.get("url", "")).rstrip("/") for item in listed if isinstance(item, CommentedMap)}
    taken = {str(item.get("name", "")) for item in listed if isinstance(item, CommentedMap)}
    for replica in replicas:
        if replica.url in known:
            continue
        name = next(word for number in range(1, 10_000) if (word := f"triton-{number}") not in taken)
        taken.add(name)
        item = CommentedMap({"name": name, "url": replica.url, "metrics_url": replica.metrics_url})
        item.yaml_add_eol_comment(f"server {replica.release}", "name")
        listed.append(item)
        for remark in replica.remarks:
            item.yaml_set_comment_before_after_key("url", before=_line(remark), indent=4)
        yield f"replica {replica.url}"


def _add_models(body: CommentedMap, replicas: tuple[FoundReplica, ...]) -> Iterator[str]:
    models = body.get("models")
    if not isinstance(models, CommentedMap):
        models = body["models"] = CommentedMap()
    for model in merged_models(replicas):
        if model.name not in models:
            models[model.name] = _model(model)
            for remark in model.remarks:
                models.yaml_set_comment_before_after_key(model.name, before=_line(remark), indent=2)
            yield f"model {model.name}"
            continue
        entry = models[model.name]
        if not isinstance(entry, CommentedMap):
            entry = models[model.name] = CommentedMap()
        versions = entry.get("versions")
        if not isinstance(versions, CommentedMap):
            versions = entry["versions"] = CommentedMap()
        for version in model.versions:
            if version.version not in {str(known) for known in versions}:
                _add_version(versions, version)
                yield f"version {version.version} of {model.name}"


def _model(model: FoundModel) -> CommentedMap:
    entry = CommentedMap()
    if model.kind != "model":
        entry["pipeline"] = model.kind
    if model.calls:
        calls = CommentedMap({stage: _count(number) for stage, _, number in model.calls})
        calls.fa.set_flow_style()
        entry["calls"] = calls
    _add_buckets(entry, model.latency_buckets)
    entry["versions"] = CommentedMap()
    for version in model.versions:
        _add_version(entry["versions"], version)
    return entry


def _add_buckets(entry: CommentedMap, latency_buckets: tuple[str, ...]) -> None:
    if latency_buckets:
        entry["latency_buckets"] = CommentedSeq(latency_buckets)
        entry["latency_buckets"].fa.set_flow_style()


def _add_version(versions: CommentedMap, version: FoundVersion) -> None:
    key, empty = DoubleQuotedScalarString(version.version), CommentedMap()
    _add_buckets(empty, version.latency_buckets)
    empty.fa.set_flow_style()
    versions[key] = empty
    # A comment would break a mapping that stands on one line.
    if version.requests is not None and not versions.fa.flow_style():
        mean = f", {format_latency(version.mean_seconds)} each" if version.mean_seconds is not None else ""
        busy = f", {version.qps:.3g} a second just now" if version.qps else ""
        versions.yaml_add_eol_comment(f"{version.requests:.0f} requests{mean}{busy}", key)


def _count(number: float) -> int | float:
    return int(number) if number == int(number) else number


def _line(text: str) -> str:
    """One comment line; a name with a line break in it cannot end the comment."""
    return re.sub(r"\s+", " ", "".join(letter if letter.isprintable() else " " for letter in text)).strip()


def _yaml(*, flush_lists: bool = False) -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    # ruamel breaks lines after 80 characters otherwise, those of the user, too.
    yaml.width = 4096
    # ruamel keeps no indentation of lists: it is given that of the user's file.
    yaml.indent(mapping=2, sequence=2 if flush_lists else 4, offset=0 if flush_lists else 2)
    return yaml


def _text(body: _Yaml, *, flush_lists: bool = False) -> str:
    paper = io.StringIO()
    _yaml(flush_lists=flush_lists).dump(body, paper)
    return paper.getvalue()
