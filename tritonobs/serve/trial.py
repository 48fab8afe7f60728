"""A test message, through the chosen part of the delivery path."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Final, Literal

from tritonobs.chats.chat import Verdict
from tritonobs.chats.registry import robot_chat
from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.chat import ChatClient
from tritonobs.clients.exposition import ServeClient
from tritonobs.delivery.composer import TEST_ALERT, Composer, load_templates, trial_payload
from tritonobs.delivery.payload import Payload, read_payload
from tritonobs.delivery.robots import robot_secrets
from tritonobs.errors import BadAnswer, TimedOut, TritonobsError
from tritonobs.plan.fleet import Plan
from tritonobs.plan.notify import Robot
from tritonobs.serve.config import read_gate

Via = Literal["direct", "serve", "alertmanager"]
PATHS: Final[tuple[Via, ...]] = ("direct", "serve", "alertmanager")
_PATIENCE_SECONDS = 45.0
_LOOK_SECONDS = 0.5
_LIFE = timedelta(minutes=1)


def try_robot(plan: Plan, name: str, via: Via, *, chat_urls: Mapping[str, str] | None = None) -> None:
    """Return when the robot has accepted a test message.

    `direct` sends it from here, `serve` lets the running daemon send it, `alertmanager` begins with an alert.

    Raises:
        TritonobsError: there is no such robot, or it did not accept the message; the text says where it
        ended.
    """
    robot = next((one for one in plan.notify.robots if one.name == name), None)
    if robot is None:
        names = ", ".join(one.name for one in plan.notify.robots) or "none"
        own = next((one.receiver for one in plan.notify.channels if one.name == name), "")
        hint = f"; {own} is sent by Alertmanager itself, so nothing here can try it" if own else ""
        raise TritonobsError(f"the fleet file has no robot {name!r}; it has {names}{hint}")
    if via == "direct":
        _send(plan, robot, chat_urls or {})
    elif via == "serve":
        _post(plan, robot)
    else:
        _raise(plan, robot)


def _send(plan: Plan, robot: Robot, chat_urls: Mapping[str, str]) -> None:
    chat = robot_chat(robot.chat)
    composer = Composer(plan=plan, templates=load_templates(plan.notify))
    payload: Payload = read_payload(trial_payload(robot.name))
    (page,) = composer.write(payload.alerts, {}, robot, chat.most_bytes)
    with closing(ChatClient(base_urls=chat_urls)) as client:
        reply = client.send(chat, *robot_secrets(robot), page.message)
    if reply.verdict is not Verdict.ACCEPTED:
        raise BadAnswer(f"robot {robot.name}: {chat.title} said {reply.said}")


def _post(plan: Plan, robot: Robot) -> None:
    with closing(_serve(plan)) as client:
        refusal = client.post_alerts(robot.receiver, trial_payload(robot.name))
    if refusal:
        raise BadAnswer(f"robot {robot.name}: {refusal}")


def _raise(plan: Plan, robot: Robot) -> None:
    manager_url = plan.addresses.alertmanager_url
    with closing(_serve(plan)) as serve, closing(AlertmanagerClient(manager_url)) as manager:
        before, errors = serve.alerts_named(robot.name), serve.errors(robot.name)
        (alert,) = read_payload(trial_payload(robot.name)).alerts
        now = datetime.now(timezone.utc)
        times = {"begins_at": now.isoformat(), "ends_at": (now + _LIFE).isoformat()}
        manager.raise_alert(alert.labels, alert.annotations, **times)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while serve.alerts_named(robot.name) <= before:
            if time.monotonic() > deadline:
                raise TimedOut(_where_it_ended(robot, serve.errors(robot.name) - errors))
            time.sleep(_LOOK_SECONDS)


def _where_it_ended(robot: Robot, errors: Counter[str]) -> str:
    if errors:
        return (
            f"the alert {TEST_ALERT} reached serve, but robot {robot.name} did not accept the message "
            f"({', '.join(errors)}); --via serve prints what it says"
        )
    return (
        f"Alertmanager accepted the alert {TEST_ALERT}, but serve sent robot {robot.name} nothing "
        f"for {_PATIENCE_SECONDS:g} s; was its configuration built from this fleet file?"
    )


def _serve(plan: Plan) -> ServeClient:
    gate = read_gate(plan.notify.auth)
    return ServeClient(plan.addresses.serve_url, authorization=gate.header() if gate else None)
