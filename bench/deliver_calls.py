"""Many webhook calls at once to a real `tritonobs serve`, or a large one; behind it a strict robot."""

from __future__ import annotations

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import requests
from deliver_burst import payload
from results import table

from support.programs import ServeProgram
from tritonobs.chats.registry import robot_chat
from tritonobs.extensions.lab.robot import RobotDouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BETWEEN_LOOKS_SECONDS = 0.02
_FLEET = """\
fleet: bench
replicas: [{{name: a, url: "http://10.0.0.1:8000"}}]
addresses: {{prometheus: "http://127.0.0.1:1"}}
models: {{inspect: {{versions: {{"1": {{}}}}}}}}
notify: {{{chat}: {{oncall: {entry}}}}}
"""


def measure(counts: Sequence[int], alerts: Sequence[int], chat: str) -> tuple[str, object]:
    """When each of so many calls was answered 200, and what one call of so many alerts costs."""
    calls = [_run(count, chat) for count in counts]
    large = [_large(count, chat) for count in alerts]
    rows = [
        [
            str(each["calls"]),
            *(f"{each[key]:.2f}" for key in ("p50_s", "p99_s", "all_s")),
            f"{each['calls_per_s']:.0f}",
            str(each["messages"]),
        ]
        for each in calls
    ]
    large_rows = [
        [str(each["alerts"]), *(f"{each[key]:.2f}" for key in ("cpu_s", "all_s")), str(each["messages"])]
        + [f"{each['looks']} of {each['looks']}" if each["answered"] else "NOT ALL"]
        + [f"{1000 * each[key]:.0f}" for key in ("look_p50_s", "look_worst_s")]
        for each in large
    ]
    text = (
        "From a call's start to its 200, which it gets when the robot accepted the message that names its "
        "alert. The callers are threads of the same machine; each has an alert and a group of its own. The "
        "daemon has just started: in its first minute a robot's messages are 12 s apart, which is what a "
        "second message costs here.\n\n"
        + table(["calls at once", "p50, s", "p99, s", "all after, s", "calls/s", "messages"], rows)
        + "\n\nOne call with many alerts, repeated after a 503 as Alertmanager does, until it is answered "
        "200. Meanwhile `/healthz` is asked fifty times a second, which is in the CPU time.\n\n"
        + table(
            [
                "alerts in one call",
                "CPU of serve, s",
                "answered after, s",
                "messages",
                "/healthz answered",
                "its p50, ms",
                "its worst, ms",
            ],
            large_rows,
        )
    )
    return text, {"calls": calls, "large": large}


@contextmanager
def _daemon(chat: str) -> Iterator[tuple[ServeProgram, RobotDouble]]:
    """One that has just started, and its robot."""
    with tempfile.TemporaryDirectory() as folder, RobotDouble(chat=chat) as robot:
        fleet = Path(folder) / "fleet.yaml"
        entry = {"webhook_file": "webhook", **({"secret_file": "secret"} if robot.secret else {})}
        fleet.write_text(_FLEET.format(chat=chat, entry=json.dumps({**entry, **robot_chat(chat).example})))
        for name, text in (("webhook", robot.webhook_url), ("secret", robot.secret)):
            (fleet.parent / name).touch(mode=0o600)
            (fleet.parent / name).write_text(text)
        with ServeProgram(fleet) as serve:
            yield serve, robot


def _run(count: int, chat: str) -> dict[str, float]:
    with _daemon(chat) as (serve, robot), ThreadPoolExecutor(count) as callers:
        bodies = [payload(f"model-{number:05}").model_dump_json(by_alias=True) for number in range(count)]
        began = time.monotonic()
        waits = sorted(callers.map(_call, [serve.url + _path(chat)] * count, bodies))
        whole = time.monotonic() - began
        messages = len(robot.messages)
    return {
        "calls": count,
        "p50_s": waits[count // 2],
        "p99_s": waits[min(count - 1, count * 99 // 100)],
        "all_s": whole,
        "calls_per_s": count / whole,
        "messages": messages,
    }


def _large(count: int, chat: str) -> dict[str, float]:
    alerts = [payload(f"model-{number:05}").model_dump(mode="json", by_alias=True) for number in range(count)]
    body = json.dumps({**alerts[0], "alerts": [one for each in alerts for one in each["alerts"]]})
    with _daemon(chat) as (serve, robot), ThreadPoolExecutor(1) as caller:
        process = psutil.Process(serve.pid)
        before = sum(process.cpu_times()[:2])
        call = caller.submit(_call, serve.url + _path(chat), body)
        looks = []
        with requests.Session() as session:
            while not call.done():
                looks.append(_look(session, serve.url))
                time.sleep(_BETWEEN_LOOKS_SECONDS)
        cpu = sum(process.cpu_times()[:2]) - before
        messages = len(robot.messages)
    seconds = sorted(look for look in looks if look is not None)
    return {
        "alerts": count,
        "cpu_s": cpu,
        "all_s": call.result(),
        "messages": messages,
        "looks": len(looks),
        "answered": len(seconds) == len(looks),
        "look_p50_s": seconds[len(seconds) // 2],
        "look_worst_s": seconds[-1],
    }


def _path(chat: str) -> str:
    return f"/alertmanager/{chat}/oncall"


def _look(session: requests.Session, url: str) -> float | None:
    """Seconds until it said that it is well; None where it did not."""
    began = time.monotonic()
    with suppress(requests.RequestException):
        if session.get(f"{url}/healthz", timeout=5).ok:
            return time.monotonic() - began
    return None


def _call(url: str, body: str) -> float:
    """Seconds until it was delivered; a 503 is repeated, as Alertmanager would."""
    began = time.monotonic()
    headers = {"Content-Type": "application/json"}
    while (
        answer := requests.post(url, data=body, headers=headers, timeout=60)
    ).status_code == requests.codes.unavailable:
        time.sleep(5)
    answer.raise_for_status()
    return time.monotonic() - began
