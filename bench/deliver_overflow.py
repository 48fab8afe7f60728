"""From the first request above a QPS limit to the message the robot accepted, on the live stack."""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING

import requests
from results import table

from tritonobs.delivery.view import LANGUAGES
from tritonobs.extensions.lab import demo
from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.processes import Folders

if TYPE_CHECKING:
    from pathlib import Path

    from tritonobs.extensions.lab.load.run import Background
    from tritonobs.extensions.lab.stack.local import Running

_SEED = 20260301
_HOLD, _SHORT_HOLD = "keep_firing_for: 1m", "keep_firing_for: 5s"
_EMPTY_SECONDS = 20.0
"""As long as the window the alert looks back over: the next run begins with an empty one."""
_EVIDENCE = LANGUAGES["en"].evidence.partition("{}")[0]
_STEPS = {
    "seen": "a record shows it",
    "firing": "the alert fires",
    "accepted": "the robot accepted the message",
}


def measure(repeats: int, state: Path, chat: str) -> tuple[str, object]:
    """Seconds after the first overflowing one, on one stack, at moments unrelated to its scrapes."""
    chance = random.Random(_SEED)  # noqa: S311 (a repeatable experiment, no secret)
    running = local.start(None, Folders(root=state.absolute()), _say, chat=chat, move_ports=True)
    taken: list[dict[str, float]] = []
    explained = 0
    try:
        _shorten_the_hold(running)
        observer = demo.Observer(running)
        url = running.plan.replicas[0].http_url
        limit = float(min(limit.qps for limit in running.plan.limits if limit.model == demo.MODEL))
        for number in range(repeats):
            before = len(observer.messages())
            with demo.overflow(url, limit * demo.OVERFLOW_RATIO) as load:
                moments, message = _follow(observer, load, before)
            taken.append(moments)
            explained += _EVIDENCE in message.text
            _say(f"{number + 1} {json.dumps(taken[-1])}")
            demo.wait_resolved(observer)
            time.sleep(_EMPTY_SECONDS + chance.uniform(0, 10))
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            local.stop(running)
    return _told(taken, explained, running), taken


def _shorten_the_hold(running: Running) -> None:
    """An alert is held for a minute after its end; less of that, and the next run can begin sooner.

    It changes nothing between an overflow and its message.
    """
    for rules in (running.folders.built / "prometheus" / "rules").glob("*.rules.yml"):
        rules.write_text(rules.read_text(encoding="utf-8").replace(_HOLD, _SHORT_HOLD), encoding="utf-8")
    requests.post(f"{running.address('prometheus')}/-/reload", timeout=10).raise_for_status()


def _follow(observer: demo.Observer, load: Background, before: int) -> tuple[dict[str, float], demo.Message]:
    moments_seen: list[demo.Moment] = []
    message = demo.follow_alert(observer, load, moments_seen.append, before=before)
    moments = {step: moment.seconds for step, moment in zip(_STEPS, moments_seen, strict=True)}
    return moments, message


def _told(taken: list[dict[str, float]], explained: int, running: Running) -> str:
    settings = running.plan.prometheus
    text = (
        f"{len(taken)} overflows of twice the limit, from no traffic at all; Prometheus scrapes every "
        f"{settings.scrape_interval_seconds} s and evaluates every {settings.evaluation_interval_seconds} s. "
        "The first begins when the stack is ready, and its alert waits for the first record of owners, up to "
        "30 s. "
        "Between two runs the alert ends and its window empties; for that its hold of a minute was cut to "
        "5 s.\n\n"
    )
    rows = []
    for step, words in _STEPS.items():
        values = [moments[step] for moments in taken]
        rows.append(
            [words, *(f"{value:.1f}" for value in (min(values), statistics.median(values), max(values)))]
        )
    said = f"{explained} of {len(taken)} messages said where the time of a request goes."
    every = ", ".join(f"{moments['accepted']:.1f}" for moments in taken)
    text += table(["after", "min, s", "median, s", "max, s"], rows)
    return f"{text}\n\nEvery run, in order: {every} s. {said}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
