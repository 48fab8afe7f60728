"""What the Prometheus operator reads: what is scraped, the rules, and an AlertmanagerConfig.

The operator adds a matcher for the object's own namespace to an AlertmanagerConfig, and our alerts carry no
namespace: it needs an Alertmanager with `alertmanagerConfigMatcherStrategy: {type: None}`. So it is written
beside the base.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

from tritonobs.errors import RenderFailed
from tritonobs.extensions.kubernetes.objects import (
    LARGEST_BYTES,
    NAME,
    PORT_NAME,
    SELECTED,
    Object,
    manifest,
    metadata,
    weight,
)
from tritonobs.plan.fleet import Plan, Pods, own_labels
from tritonobs.plan.kubernetes import Objects
from tritonobs.plan.rules import labels_selected, matchers
from tritonobs.render.alertmanager import fragment
from tritonobs.render.artifact import Artifact
from tritonobs.render.prometheus import clock, plain, pool_relabellings, relabellings
from tritonobs.units import format_duration

_TRITON: Final = "tritonobs-triton"
_TRITON_JOB: Final = "triton"
_SLOWEST_LIMITS_SECONDS = Decimal(3)
_MATCH = re.compile(r"([^=!\s]+)\s*(==?|!=)?\s*(.*)")

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROOM_BYTES = 2_000
"""For names, labels and what wraps the groups."""


def monitor_objects(plan: Plan, objects: Objects) -> Iterator[Object]:
    """A PodMonitor where servers are pods, else what asks `tritonobs serve` for them; and one for serve.

    Shards scrape servers, the global Prometheus scrapes serve.
    """
    how, tier = plan.replica_source, plan.rules.tier
    if tier != "global":
        yield _pods(plan, objects, how) if isinstance(how, Pods) else _asked(plan, objects)
    if tier != "shard":
        yield _serve(plan, objects)


def pod_selector(selector: str) -> dict[str, Any]:
    """Labels as `kubectl get -l` takes them, as objects write them."""
    labels: dict[str, str] = {}
    more: list[dict[str, Any]] = []
    for part in selector.split(","):
        found = _MATCH.fullmatch(part.strip())
        key, operator, value = found.groups() if found else (part, None, "")
        if operator is None:
            more.append({"key": key, "operator": "Exists"})
        elif operator == "!=":
            more.append({"key": key, "operator": "NotIn", "values": [value]})
        else:
            labels[key] = value
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": more} if more else {})}


def _pods(plan: Plan, objects: Objects, how: Pods) -> Object:
    relabelled = [
        *relabellings(plan, how),
        # The operator names a job after the object; the rules select another name.
        _set("job", _job(plan.rules.selector, _TRITON_JOB)),
        # A sidecar's ports lead to the same page: without its name they are one target.
        _set("container", ""),
        # Prometheus shards by this: all pods of one Deployment are in one shard.
        *pool_relabellings(how),
    ]
    times = clock(plan)
    endpoint = {
        "path": "/metrics",
        "interval": times["scrape_interval"],
        "scrapeTimeout": times["scrape_timeout"],
        "relabelings": [_camel(one) for one in relabelled],
    }
    spec = {
        "namespaceSelector": {"matchNames": [how.namespace]} if how.namespace else {"any": True},
        "selector": pod_selector(how.selector),
        "podMetricsEndpoints": [endpoint],
    }
    return manifest("monitoring.coreos.com/v1", "PodMonitor", metadata(_TRITON, objects), spec=spec)


def _asked(plan: Plan, objects: Objects) -> Object:
    """Prometheus asks `tritonobs serve`, which finds servers in the way that the fleet file says."""
    job, times = _job(plan.rules.selector, _TRITON_JOB), clock(plan)
    spec = {
        "jobName": job,
        "scrapeInterval": times["scrape_interval"],
        "scrapeTimeout": times["scrape_timeout"],
        "httpSDConfigs": [{"url": f"{plan.addresses.serve_url}/sd/triton", "refreshInterval": "15s"}],
        "relabelings": [_camel(_set("job", job))],
    }
    return manifest("monitoring.coreos.com/v1alpha1", "ScrapeConfig", metadata(_TRITON, objects), spec=spec)


def _serve(plan: Plan, objects: Objects) -> Object:
    rules = plan.rules
    interval = plan.prometheus.scrape_interval_seconds
    limits = format_duration(min(interval, _SLOWEST_LIMITS_SECONDS))
    spec = {
        "selector": {"matchLabels": dict(SELECTED)},
        "namespaceSelector": {"matchNames": [objects.namespace]},
        "endpoints": [
            {
                "port": PORT_NAME,
                "path": "/metrics",
                "interval": limits,
                "relabelings": _own(plan, rules.serve_selector, "tritonobs"),
            },
            {
                "port": PORT_NAME,
                "path": "/metrics/traces",
                "interval": format_duration(interval),
                "honorLabels": True,
                "relabelings": _own(plan, rules.traces_selector, "tritonobs-traces"),
            },
        ],
    }
    return manifest("monitoring.coreos.com/v1", "ServiceMonitor", metadata(NAME, objects), spec=spec)


def _own(plan: Plan, selector: str, job: str) -> list[Object]:
    wanted = {**plan.cluster_labels, **own_labels(selector, job=job)}
    labels = {**wanted, "job": _job(selector, job)}
    return [_camel(_set(label, value)) for label, value in labels.items()]


def _job(selector: str, usual: str) -> str:
    """The job that rules read with a selector."""
    return labels_selected(selector).get("job", usual)


def _set(label: str, value: str) -> dict[str, Any]:
    return {"target_label": label, "replacement": plain(value)}


def _camel(fields: dict[str, Any]) -> Object:
    """As the operator's objects spell it."""
    return {_field(key): value for key, value in fields.items()}


def rule_objects(name: str, artifact: Artifact, objects: Objects) -> Iterator[Object]:
    """The groups of a rules file, none twice, none lost.

    Raises:
        RenderFailed: one group alone is too large for an object.
    """
    groups = yaml.load(artifact.text, Loader=_LOADER)["groups"]  # noqa: S506 (a safe loader, in C where there is one)
    parts = tuple(_parts(groups))
    for number, part in enumerate(parts, start=1):
        about = metadata(name if len(parts) == 1 else f"{name}-{number:03d}", objects)
        yield manifest("monitoring.coreos.com/v1", "PrometheusRule", about, spec={"groups": part})


def _parts(groups: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    most = LARGEST_BYTES - _ROOM_BYTES
    part: list[dict[str, Any]] = []
    size = 0
    for group in groups:
        # Each line stands four spaces further right inside the object.
        own = weight([group]) + 4 * (group_lines(group))
        if own > most:
            raise RenderFailed(f"group {group['name']} has {own} bytes; an object takes {most}")
        if part and size + own > most:
            yield part
            part, size = [], 0
        part.append(group)
        size += own
    yield part


def group_lines(group: dict[str, Any]) -> int:
    """At least as many lines as the group has as YAML."""
    return 3 + sum(
        2
        + len(rule)
        + str(rule).count("\\n")
        + len(rule.get("labels", ()))
        + len(rule.get("annotations", ()))
        for rule in group["rules"]
    )


def alertmanager_object(plan: Plan, objects: Objects) -> Object:
    """The fragment of Alertmanager's configuration, as the operator's object spells it."""
    config = fragment(plan)
    routes = [_route(one) for one in config["route"]["routes"]]
    # A receiver with nothing but a name sends nothing.
    silent = next(one["name"] for one in config["receivers"] if len(one) == 1)
    spec = {
        # The operator needs one route at the top; alerts that none of ours takes go on to others' routes.
        "route": {
            "receiver": silent,
            "matchers": [_matcher('alertname=~"Triton.+|Watchdog"')],
            "routes": routes,
        },
        "receivers": [_receiver(one, objects) for one in config["receivers"]],
        "inhibitRules": [
            {
                "sourceMatch": [_matcher(text) for text in one["source_matchers"]],
                "targetMatch": [_matcher(text) for text in one["target_matchers"]],
                **({"equal": one["equal"]} if one["equal"] else {}),
            }
            for one in config["inhibit_rules"]
        ],
    }
    api = "monitoring.coreos.com/v1alpha1"
    return manifest(api, "AlertmanagerConfig", metadata(NAME, objects), spec=spec)


def _route(route: dict[str, Any]) -> Object:
    made = _camel({key: value for key, value in route.items() if key not in ("matchers", "routes")})
    if route.get("matchers"):
        made["matchers"] = [_matcher(text) for text in route["matchers"]]
    if route.get("routes"):
        made["routes"] = [_route(one) for one in route["routes"]]
    return made


def _receiver(receiver: dict[str, Any], objects: Objects) -> Object:
    made: Object = {"name": receiver["name"]}
    if hooks := receiver.get("webhook_configs"):
        made["webhookConfigs"] = [_webhook(one, objects) for one in hooks]
    for section in receiver.keys() - {"name", "webhook_configs"}:
        made[_field(section)] = [_channel(one, objects) for one in receiver[section]]
    return made


def _webhook(config: dict[str, Any], objects: Objects) -> Object:
    made: Object = {"url": config["url"], "sendResolved": config["send_resolved"]}
    http = config.get("http_config", {})
    if basic := http.get("basic_auth"):
        # The operator wants the name in a Secret, too; we keep it under the key `username`.
        made["httpConfig"] = {
            "basicAuth": {
                "username": {"name": objects.secret, "key": "username"},
                "password": _key(basic["password_file"], objects),
            }
        }
    elif bearer := http.get("authorization"):
        made["httpConfig"] = {"authorization": {"credentials": _key(bearer["credentials_file"], objects)}}
    return made


def _channel(config: dict[str, Any], objects: Objects) -> Object:
    """A channel that Alertmanager sends to by itself: a file is a key of the Secret."""
    return {
        _field(key.removesuffix("_file")): _key(value, objects) if key.endswith("_file") else value
        for key, value in config.items()
    }


def _field(name: str) -> str:
    """`api_url` as `apiURL`, `slack_configs` as `slackConfigs`."""
    first, *rest = name.split("_")
    return first + "".join("URL" if part == "url" else part.capitalize() for part in rest)


def _key(file: str, objects: Objects) -> Object:
    return {"name": objects.secret, "key": PurePosixPath(file).name}


def _matcher(text: str) -> Object:
    ((name, operator, value),) = matchers(text)
    return {"name": name, "matchType": operator, "value": value}
