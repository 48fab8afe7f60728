"""Open-loop load: the rate does not depend on responses. Images and prompts, and how requests can fail.

For images the asyncio client of tritonclient is used: unlike the other client it never repeats a POST on its
own, so the counts here are what was sent. Prompts go over Triton's generate endpoint, whose answer comes
token by token.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
import numpy as np
from tritonclient.http.aio import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException
from typing_extensions import Self

from tritonobs.clients.transport import as_documented, checked_url, masked
from tritonobs.errors import BadAnswer, ClientError, TimedOut, Unreachable
from tritonobs.extensions.lab.load.images import (
    DEFAULT_MIX,
    Ingredient,
    Shot,
    choose_shots,
    draw_shots,
    is_prompt,
    parse_mix,
)
from tritonobs.extensions.lab.load.schedule import (
    Arrivals,
    Failure,
    LoadResult,
    Progress,
    Recorder,
    Segment,
    send_times,
    total_seconds,
)

_LONGEST_KIND = 90
_PARTICULARS = ((re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`"), "…"), (re.compile(r"\d+(?:\W?\d+)*"), "N"))

_TEXT = "text_input"
_FAILED = b'data: {"error"'


class Wire:
    """Sends images to the replicas in turn. Open and close it inside one event loop."""

    def __init__(
        self, urls: Sequence[str], *, model: str, version: str, timeout_seconds: float, connections: int
    ) -> None:
        self._model, self._version = model, version
        self._addresses = [masked(checked_url(url)) for url in urls]
        self._clients = [
            InferenceServerClient(
                urlsplit(url).netloc + urlsplit(url).path.rstrip("/"),
                ssl=urlsplit(url).scheme == "https",
                conn_limit=connections,
                conn_timeout=timeout_seconds,
            )
            for url in urls
        ]
        self._turn = cycle(self._clients)
        self._input: tuple[str, list[int]] = ("", [])

    async def prepare(self) -> None:
        """Ask for the name and shape of the model's input.

        Raises:
            ClientError: no server, no such model, or a model that takes something else than one image.
        """
        for client, address in zip(self._clients, self._addresses, strict=True):
            with as_documented(address, f"the metadata of model {self._model!r}"):
                failure, metadata = await attempt(client.get_model_metadata(self._model, self._version))
                require(failure, address, self._model)
                self._input = _image_input(metadata, address)

    async def send(self, body: bytes) -> Failure | None:
        """Send one image; None when the answer was good."""
        name, shape = self._input
        tensor = InferInput(name, shape, "BYTES")
        tensor.set_data_from_numpy(np.array([body], dtype=np.object_).reshape(shape))
        failure, _ = await attempt(next(self._turn).infer(self._model, [tensor], model_version=self._version))
        return failure

    async def close(self) -> None:
        """Give the connections back."""
        for client in self._clients:
            await client.close()


def _image_input(metadata: Any, address: str) -> tuple[str, list[int]]:  # noqa: ANN401 (JSON)
    """Name and shape of the one input of bytes."""
    inputs = metadata.get("inputs", [])
    if len(inputs) != 1 or inputs[0].get("datatype") != "BYTES":
        found = ", ".join(f"{tensor['name']} {tensor['datatype']}" for tensor in inputs) or "none"
        raise BadAnswer(
            f"{address}: model {metadata.get('name')!r} takes {found}; "
            "load sends one image as the only input, of type BYTES"
        )
    return inputs[0]["name"], [
        abs(int(side)) if int(side) == -1 else int(side) for side in inputs[0]["shape"]
    ]


def require(failure: Failure | None, address: str, model: str) -> None:
    """Go on only where the server said what the model takes.

    Raises:
        ClientError: it did not.
    """
    if failure:
        kind = {"connection refused": Unreachable, "timed out": TimedOut}.get(failure.kind, BadAnswer)
        raise kind(f"{address}: model {model!r}: {failure.text}")


async def attempt(call: Any) -> tuple[Failure | None, Any]:  # noqa: ANN401 (tritonclient ships no types)
    """The answer of a call, or how it failed."""
    try:
        return None, await call
    except InferenceServerException as error:
        text = str(error.message() or error)
        return Failure(kind=kind_of(error.status() or "", text), text=text), None
    except asyncio.TimeoutError:
        return Failure(kind="timed out", text="no answer in time"), None
    except aiohttp.ClientConnectorError as error:
        refused = isinstance(error.os_error, ConnectionRefusedError)
        if refused:
            return Failure(kind="connection refused", text="connection refused"), None
        return Failure(kind="no connection", text=str(error)), None
    except (aiohttp.ClientError, OSError) as error:
        return Failure(kind="connection broken", text=str(error) or type(error).__name__), None


def kind_of(status: str, message: str) -> str:
    """A short name under which messages that differ only in names and numbers fall together."""
    first_line = (message.strip().splitlines() or [""])[0]
    for pattern, stand_in in _PARTICULARS:
        first_line = pattern.sub(stand_in, first_line)
    return f"{status} {first_line}".strip()[:_LONGEST_KIND]


class PromptWire:
    """Sends prompts to the replicas in turn, as `Wire` sends images. Open and close it in one event loop."""

    def __init__(
        self, urls: Sequence[str], *, model: str, version: str, timeout_seconds: float, connections: int
    ) -> None:
        path = f"/v2/models/{quote(model, safe='')}" + (
            f"/versions/{quote(version, safe='')}" if version else ""
        )
        self._model = model
        self._addresses = {masked(checked_url(url)): f"{checked_url(url)}{path}" for url in urls}
        self._turn = cycle(f"{url}/generate_stream" for url in self._addresses.values())
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections),
            timeout=aiohttp.ClientTimeout(total=timeout_seconds),
        )

    async def prepare(self) -> None:
        """Check that the model takes text.

        Raises:
            ClientError: no server, no such model, or a model without the input `text_input`.
        """
        for address, url in self._addresses.items():
            with as_documented(address, f"the metadata of model {self._model!r}"):
                failure, metadata = await attempt(self._metadata(url))
                require(failure, address, self._model)
                inputs = [(tensor["name"], tensor["datatype"]) for tensor in metadata.get("inputs", [])]
            if (_TEXT, "BYTES") not in inputs:
                found = ", ".join(f"{name} {kind}" for name, kind in inputs) or "none"
                raise BadAnswer(
                    f"{address}: model {self._model!r} takes {found}; "
                    f"load sends a prompt as the input {_TEXT}, of type BYTES"
                )

    async def send(self, body: bytes) -> Failure | None:
        """Send one prompt; None when the whole answer was good."""
        failure, _ = await attempt(self._answer(body))
        return failure

    async def close(self) -> None:
        """Give the connections back."""
        await self._session.close()

    async def _metadata(self, url: str) -> Any:  # noqa: ANN401 (JSON)
        async with self._session.get(url) as answer:
            await _refused(answer)
            return await answer.json(content_type=None)

    async def _answer(self, body: bytes) -> None:
        async with self._session.post(next(self._turn), data=body) as answer:
            await _refused(answer)
            async for line in answer.content:
                if line.startswith(_FAILED):
                    raise InferenceServerException(line.removeprefix(b"data: ").decode("utf-8", "replace"))


async def _refused(answer: aiohttp.ClientResponse) -> None:
    if not answer.ok:
        raise InferenceServerException(await answer.text(errors="replace"), status=str(answer.status))


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


class Background:
    """A plan that runs in a thread of its own, until it is stopped or the block ends."""

    def __init__(self, plan: LoadPlan) -> None:
        self._plan = plan
        self._stop, self._began = threading.Event(), threading.Event()
        self._failure: ClientError | None = None
        self._thread = threading.Thread(target=self._send, name=f"load on {plan.model}", daemon=True)
        self.began_at = 0.0
        """When the first request was sent, in Unix seconds."""
        self._thread.start()

    def __enter__(self) -> Self:
        self.wait_started()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()

    @property
    def alive(self) -> bool:
        """Whether it still sends."""
        return self._thread.is_alive()

    def wait_started(self, seconds: float | None = None) -> None:
        """Wait until the first request is on its way, at most so long.

        Raises:
            ClientError: the model cannot be asked.
        """
        self._began.wait(seconds)
        if self._failure:
            raise self._failure

    def stop(self) -> None:
        """Send nothing more."""
        self._stop.set()

    def join(self) -> None:
        """Wait until every answer is here."""
        self._thread.join()

    def _send(self) -> None:
        try:
            run_load(self._plan, self._note, stop=self._stop)
        except ClientError as failure:
            self._failure = failure
        finally:
            self._began.set()

    def _note(self, progress: Progress) -> None:
        if progress.sent and not self._began.is_set():
            self.began_at = time.time() - progress.elapsed_seconds
            self._began.set()
