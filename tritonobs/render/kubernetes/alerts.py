"""Our routes, receivers and inhibitions as an AlertmanagerConfig.

The operator adds a matcher for the object's own namespace to it, and our alerts carry no namespace: it needs
an Alertmanager with `alertmanagerConfigMatcherStrategy: {type: None}`. So it is written beside the base.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from tritonobs.plan.fleet import Plan
from tritonobs.plan.kubernetes import Objects
from tritonobs.render.alertmanager import fragment
from tritonobs.render.kubernetes.objects import NAME, Object, metadata

_MATCHER = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)(=~|!~|!=|=)"(.*)"', re.DOTALL)


def alertmanager_object(plan: Plan, objects: Objects) -> Object:
    """The fragment of Alertmanager's configuration, as the operator's object spells it."""
    config = fragment(plan)
    routes = [_route(one) for one in config["route"]["routes"]]
    # A receiver with nothing but a name sends nothing.
    nobody = next(one["name"] for one in config["receivers"] if len(one) == 1)
    return {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": metadata(NAME, objects),
        "spec": {
            # The operator wants one route at the top; what none of ours takes goes on to others' routes.
            "route": {
                "receiver": nobody,
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
        },
    }


def _route(route: dict[str, Any]) -> Object:
    names = {
        "group_by": "groupBy",
        "group_wait": "groupWait",
        "group_interval": "groupInterval",
        "repeat_interval": "repeatInterval",
    }
    made = {names.get(key, key): value for key, value in route.items() if key not in ("matchers", "routes")}
    if route.get("matchers"):
        made["matchers"] = [_matcher(text) for text in route["matchers"]]
    if route.get("routes"):
        made["routes"] = [_route(one) for one in route["routes"]]
    return made


def _receiver(receiver: dict[str, Any], objects: Objects) -> Object:
    made: Object = {"name": receiver["name"]}
    if hooks := receiver.get("webhook_configs"):
        made["webhookConfigs"] = [_webhook(one, objects) for one in hooks]
    if slacks := receiver.get("slack_configs"):
        made["slackConfigs"] = [_slack(one, objects) for one in slacks]
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


def _slack(config: dict[str, Any], objects: Objects) -> Object:
    names = {"send_resolved": "sendResolved", "title_link": "titleLink"}
    rest = {names.get(key, key): value for key, value in config.items() if key != "api_url_file"}
    return {"apiURL": _key(config["api_url_file"], objects), **rest}


def _key(file: str, objects: Objects) -> Object:
    return {"name": objects.secret, "key": PurePosixPath(file).name}


def _matcher(text: str) -> Object:
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a matcher")
    value = re.sub(r"\\(.)", lambda one: {"n": "\n"}.get(one[1], one[1]), found[3])
    return {"name": found[1], "matchType": found[2], "value": value}
