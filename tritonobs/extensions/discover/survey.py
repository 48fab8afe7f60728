"""A fleet file from what running replicas serve: their models, versions, pipelines and traffic.

The file is a commented draft, or an existing one with what it lacks.
"""

from __future__ import annotations

import io
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from tritonobs import names
from tritonobs.clients.exposition import MetricsPage, read_page
from tritonobs.clients.triton import ModelConfig, ModelStats, RepositoryEntry, TritonClient
from tritonobs.errors import ClientError
from tritonobs.plan.objectives import shown
from tritonobs.stage import parse_bounds
from tritonobs.units import format_latency, host_port, version_order

CALLS_PARAMETER, BUCKETS_PARAMETER = "pipeline_calls", "latency_buckets"
"""Parameters of config.pbtxt for what Triton does not report: calls of Python code, its bucket bounds."""
_METRICS_PORT = 8002
# Two readings without a pause between them would make any request a huge rate.
_A_MOMENT_SECONDS = 0.1
_CALL = re.compile(r"([^:,\s][^:,]*?)(?::(\d+(?:\.\d+)?))?")

_Yaml: TypeAlias = Any
_FLUSH_LIST = re.compile(r"^\w+:[^\n]*\n(?:\s*#[^\n]*\n)*- ", re.MULTILINE)
_HEAD = """A draft made by `tritonobs discover`: what runs, not what should. Check it with: tritonobs validate
Numbers in comments were measured since the models were loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVersion:
    """A ready version, with its traffic since it was loaded and its requests a second just now."""

    version: str
    requests: float | None = None
    mean_seconds: float | None = None
    qps: float = 0.0
    latency_buckets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """A ready model. `calls` are stage, model and calls per request; `kind` is model, bls or ensemble."""

    name: str
    kind: str
    versions: tuple[FoundVersion, ...]
    calls: tuple[tuple[str, str, float], ...] = ()
    latency_buckets: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundReplica:
    """A running server; `remarks` say what could not be seen."""

    url: str
    metrics_url: str
    release: str
    models: tuple[FoundModel, ...]
    remarks: tuple[str, ...] = ()


_UNREAD = "its configuration could not be read by its name: if it is an ensemble, add its steps as calls"
_Traffic: TypeAlias = "Mapping[tuple[str, str], FoundVersion]"


def discover(triton: TritonClient, metrics_url: str = "", *, watch_seconds: float = 2.0) -> FoundReplica:
    """Ask one replica what it serves, and watch its traffic for a moment.

    Raises:
        ClientError: it does not answer; a missing metrics page is only remarked.
    """
    page_url = metrics_url or _usual_page(triton.address)
    # Before the page and after it: what the page counts lies between the two.
    first, began = triton.stats(), time.monotonic()
    page, remarks = _page(page_url)
    time.sleep(watch_seconds)
    traffic = _traffic(first, triton.stats(), time.monotonic() - began)
    if page and not metrics_url and not _is_its_page(page, first, traffic):
        page = None
        # A model that is loaded again in place restarts its statistics, and its counters go on.
        remarks.append(
            f"{page_url} counts other requests than {triton.address}: another server's, or a model was "
            "reloaded in place; name this server's metrics endpoint (--metrics)"
        )
    entries = triton.repository_index()
    ready = [entry for entry in entries if entry.ready]
    remarks += _failed(entries)
    versions: dict[str, list[str]] = {}
    for entry in ready:
        versions.setdefault(entry.name, []).append(entry.version)
    configs = triton.model_configs(sorted(versions))
    models = tuple(
        _found_model(name, configs.get(name), sorted(found, key=version_order), page, traffic)
        for name, found in sorted(versions.items())
    )
    return FoundReplica(
        url=triton.address,
        metrics_url=page_url,
        release=triton.server_version(),
        models=models,
        remarks=tuple(remarks),
    )


def _failed(entries: tuple[RepositoryEntry, ...]) -> list[str]:
    """Versions that could not be loaded, with the first line of why."""
    return [
        f"{entry.name} version {entry.version or '?'} is not loaded, not in this file: {_why(entry.reason)}"
        for entry in entries
        # Triton keeps versions in its index that were unloaded on purpose.
        if not entry.ready and entry.reason and entry.reason != "unloaded"
    ]


def _why(reason: str) -> str:
    first = next((line for line in reason.splitlines() if line.strip()), "Triton gave no reason")
    return first.removeprefix("Internal: ")


def _page(url: str) -> tuple[MetricsPage | None, list[str]]:
    try:
        return read_page(url, prefixes=("nv_inference_", names.HEARTBEAT)), []
    except (ClientError, ValueError) as error:
        return None, [f"no metrics endpoint, so nothing is said of stages: {error}"]


def _traffic(first: tuple[ModelStats, ...], last: tuple[ModelStats, ...], seconds: float) -> _Traffic:
    """What every version served: since it was loaded, and a second just now."""
    before = {(item.name, item.version): item.successes for item in first}
    return {
        (item.name, item.version): FoundVersion(
            version=item.version,
            requests=float(item.successes),
            mean_seconds=item.success_ns / 1e9 / item.successes if item.successes else None,
            qps=max(0, item.successes - before.get((item.name, item.version), item.successes))
            / max(seconds, _A_MOMENT_SECONDS),
        )
        for item in last
    }


def _is_its_page(page: MetricsPage, first: tuple[ModelStats, ...], last: _Traffic) -> bool:
    """Whether a page that was not named is this server's: its counts lie between those before and after."""
    return all(
        item.successes
        <= page.total(names.TRITON_SUCCESS, **{names.MODEL: item.name})
        <= sum(version.requests or 0.0 for (name, _), version in last.items() if name == item.name)
        for item in first
        if sum(other.name == item.name for other in first) == 1
    )


def merged_models(replicas: tuple[FoundReplica, ...]) -> tuple[FoundModel, ...]:
    """Every model once, with the versions and the traffic of all replicas together."""
    found: dict[str, FoundModel] = {}
    for model in (model for replica in replicas for model in replica.models):
        known = found.get(model.name)
        found[model.name] = model if known is None else _together(known, model)
    return tuple(found[name] for name in sorted(found))


def _together(one: FoundModel, other: FoundModel) -> FoundModel:
    versions = {version.version: version for version in one.versions}
    for version in other.versions:
        known = versions.get(version.version)
        versions[version.version] = version if known is None else _added(known, version)
    return replace(
        one,
        versions=tuple(versions[name] for name in sorted(versions, key=version_order)),
        calls=one.calls or other.calls,
        remarks=tuple(dict.fromkeys((*one.remarks, *other.remarks))),
    )


def _added(one: FoundVersion, other: FoundVersion) -> FoundVersion:
    requests = (one.requests or 0.0) + (other.requests or 0.0)
    spent = sum((each.requests or 0.0) * (each.mean_seconds or 0.0) for each in (one, other))
    return replace(
        one,
        requests=None if one.requests is None and other.requests is None else requests,
        mean_seconds=spent / requests if requests else None,
        qps=one.qps + other.qps,
    )


def _found_model(
    name: str,
    config: ModelConfig | None,
    versions: list[str],
    page: MetricsPage | None,
    traffic: _Traffic,
) -> FoundModel:
    calls, remarks = _calls(config) if config else ((), [_UNREAD])
    kind = "ensemble" if config and config.steps else "bls" if calls else "model"
    if config and config.decoupled:
        remarks.append("decoupled: Triton's request time ends before the last response")
    # A worker that reports stages has heartbeats from its first second on, also without requests.
    if page and kind != "ensemble" and not page.total(names.HEARTBEAT, model=name):
        remarks.append("reports no stages: see docs/instrument.md")
    if config and not calls and config.platform in {"python", ""}:
        remarks.append(
            f"Python code: models that it calls cannot be seen; name them in parameter {CALLS_PARAMETER}"
        )
    parameters = config.parameters if config else {}
    return FoundModel(
        name=name,
        kind=kind,
        versions=tuple(
            replace(
                traffic.get((name, version), FoundVersion(version=version)),
                latency_buckets=_buckets(parameters, f"{BUCKETS_PARAMETER}.{version}"),
            )
            for version in versions
        ),
        calls=calls,
        latency_buckets=_buckets(parameters, BUCKETS_PARAMETER),
        remarks=tuple(remarks),
    )


def _calls(config: ModelConfig) -> tuple[tuple[tuple[str, str, float], ...], list[str]]:
    """Stage, model and calls per request; and errors of the configuration."""
    if config.steps:
        times = Counter(step.model for step in config.steps)
        return tuple((model, model, number) for model, number in times.items()), []
    text = config.parameters.get(CALLS_PARAMETER, "")
    matches = [(part, _CALL.fullmatch(part.strip())) for part in text.split(",") if part.strip()]
    wrong = [part for part, match in matches if match is None]
    calls = tuple((match[1], match[1], float(match[2] or 1)) for _, match in matches if match)
    return calls, [f"parameter {CALLS_PARAMETER} holds {part!r}; write model:calls" for part in wrong]


def _buckets(parameters: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Bucket bounds as the fleet file has them; none if there are none, or they are not valid."""
    try:
        return tuple(shown(Decimal(repr(bound))) for bound in parse_bounds(parameters[name]))
    except (KeyError, ValueError):
        return ()


def _usual_page(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{host_port(parts.hostname or '', _METRICS_PORT)}/metrics"


def draft(replicas: tuple[FoundReplica, ...], *, fleet: str = "fleet") -> str:
    """A new fleet file with everything that was found."""
    body = CommentedMap({"fleet": fleet, "replicas": CommentedSeq(), "models": CommentedMap()})
    body.yaml_set_start_comment(_HEAD)
    _add(body, replicas)
    return _text(body)


def merge(existing: str, replicas: tuple[FoundReplica, ...]) -> tuple[str, tuple[str, ...]]:
    """The file with what it lacks, and what was added; its content, comments too, stays.

    Raises:
        ValueError: the text is not a YAML mapping.
    """
    try:
        body = _yaml().load(existing)
    except YAMLError as error:
        raise ValueError(f"cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(body, CommentedMap):
        raise ValueError("is not a YAML mapping, so not a fleet file")  # noqa: TRY004 (a file's content, no argument)
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
    models = _mapping(body, "models")
    for model in merged_models(replicas):
        is_new = model.name not in models
        if is_new:
            models[model.name] = _model(model)
            for remark in model.remarks:
                models.yaml_set_comment_before_after_key(model.name, before=_line(remark), indent=2)
            yield f"model {model.name}"
        versions = _mapping(_mapping(models, model.name), "versions")
        for version in model.versions:
            if version.version not in {str(known) for known in versions}:
                _add_version(versions, version)
                if not is_new:
                    yield f"version {version.version} of {model.name}"


def _mapping(within: CommentedMap, key: str) -> CommentedMap:
    """The mapping that stands there; a new one where there is none."""
    if not isinstance(within.get(key), CommentedMap):
        within[key] = CommentedMap()
    found: CommentedMap = within[key]
    return found


def _model(model: FoundModel) -> CommentedMap:
    """A new model, without its versions."""
    entry = CommentedMap()
    if model.kind != "model":
        entry["pipeline"] = model.kind
    if model.calls:
        calls = CommentedMap({stage: _count(number) for stage, _, number in model.calls})
        calls.fa.set_flow_style()
        entry["calls"] = calls
    _add_buckets(entry, model.latency_buckets)
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
        busy = f", {version.qps:.3g}/s just now" if version.qps else ""
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
