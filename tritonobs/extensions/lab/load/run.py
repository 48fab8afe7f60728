"""Open-loop load: the rate does not depend on responses."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from tritonobs.extensions.lab.load.images import (
    DEFAULT_MIX,
    Ingredient,
    Shot,
    choose_shots,
    draw_shots,
    is_prompt,
    parse_mix,
)
from tritonobs.extensions.lab.load.result import LoadResult, Progress, Recorder
from tritonobs.extensions.lab.load.schedule import Arrivals, Segment, send_times, total_seconds
from tritonobs.extensions.lab.load.wire import PromptWire, Wire

_LEAD_SECONDS = 0.05
_NAP_SECONDS = 0.05
_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What to send where; several `urls` get requests in turn.

    `max_in_flight` bounds memory and sockets: beyond it requests wait, and show as late.
    """

    segments: tuple[Segment, ...]
    urls: tuple[str, ...] = ("http://127.0.0.1:8000",)
    model: str = "inspect"
    version: str = ""
    mix: tuple[Ingredient, ...] = parse_mix(DEFAULT_MIX)
    arrivals: Arrivals = "even"
    seed: int = 0
    timeout_seconds: float = 30.0
    max_in_flight: int = 1000


def run_load(
    plan: LoadPlan,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    stop: threading.Event | None = None,
) -> LoadResult:
    """Run the plan and wait for every answer.

    Ctrl-C, or setting `stop` from any thread, ends the sending; what was sent is waited for, and the result
    says what was done. `on_progress` is called in this thread, five times a second.

    Raises:
        ClientError: the model cannot be asked at all; nothing was sent.
    """
    stop = stop or threading.Event()
    times = send_times(plan.segments, arrivals=plan.arrivals, seed=plan.seed)
    shots = choose_shots(plan.mix, draw_shots(plan.mix, seed=plan.seed), len(times), seed=plan.seed)
    recorder = Recorder(planned=len(times), total_seconds=total_seconds(plan.segments))
    outcome: Future[float] = Future()

    def work() -> None:
        try:
            outcome.set_result(asyncio.run(_run(plan, times, shots, recorder, stop)))
        except BaseException as error:  # noqa: BLE001 (handed to the caller, who is in another thread)
            outcome.set_exception(error)

    worker = threading.Thread(target=work, name="load", daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(_PROGRESS_SECONDS)
            if on_progress:
                on_progress(recorder.progress())
    except KeyboardInterrupt:
        stop.set()
        worker.join()
    finally:
        stop.set()
    seconds = outcome.result()
    return recorder.result(
        model=plan.model, version=plan.version, seconds=seconds, stopped=recorder.sent < recorder.planned
    )


async def _run(
    plan: LoadPlan,
    times: tuple[float, ...],
    shots: tuple[Shot, ...],
    recorder: Recorder,
    stop: threading.Event,
) -> float:
    """Send everything; how long the sending took, in seconds of the schedule."""
    kind: type[PromptWire | Wire] = PromptWire if is_prompt(plan.mix[0].kind) else Wire
    wire = kind(
        plan.urls,
        model=plan.model,
        version=plan.version,
        timeout_seconds=plan.timeout_seconds,
        connections=plan.max_in_flight,
    )
    try:
        await wire.prepare()
        origin = time.monotonic() + _LEAD_SECONDS
        recorder.begin(origin)
        free = asyncio.Semaphore(plan.max_in_flight)

        async def one(due: float, shot: Shot) -> None:
            sent = time.monotonic() - origin
            recorder.went_out(due, sent, shot.kind)
            failure = await wire.send(shot.body)
            recorder.came_back(due, sent, time.monotonic() - origin, shot.kind, failure)
            free.release()

        waiting = set()
        for due, shot in zip(times, shots, strict=True):
            if not await _sleep_until(origin + due, stop):
                break
            await free.acquire()
            task = asyncio.create_task(one(due, shot))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        await _sleep_until(origin + recorder.total_seconds, stop)
        seconds = min(time.monotonic() - origin, recorder.total_seconds)
        await asyncio.gather(*waiting)
    finally:
        await wire.close()
    return seconds


async def _sleep_until(moment: float, stop: threading.Event) -> bool:
    """Whether the moment came before the stop."""
    while not stop.is_set():
        rest = moment - time.monotonic()
        if rest <= 0:
            return True
        await asyncio.sleep(min(rest, _NAP_SECONDS))
    return False
