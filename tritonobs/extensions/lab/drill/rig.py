"""A running stack for drills: its clients, its faults, and how they are undone.

Requests go to it in the background; drills change their mix. Traffic is a steady rate, or a number of callers
at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.transport import Transport
from tritonobs.clients.triton import TritonClient
from tritonobs.errors import StackError
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import Background, LoadPlan
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import native, rehearsal
from tritonobs.extensions.lab.stack.processes import Folders, Part, wait_for
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet

_LOAD_SECONDS = 90.0

_PATIENCE_SECONDS = 60.0
HOURS = 4 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Requests to one model: images or prompts of a mix, at the rates of the segments.

    A request is cancelled after `patience_seconds`; while `most_waiting` have no answer, no more are sent.
    """

    segments: tuple[Segment, ...]
    model: str = "inspect"
    version: str = ""
    mix: str = "1280x720"
    patience_seconds: float = 8.0
    most_waiting: int = 200


def steady(qps: float, *, model: str = "inspect", version: str = "", mix: str = "1280x720") -> Stream:
    """The same rate until it is stopped."""
    return Stream(segments=(Segment(qps=qps, seconds=HOURS),), model=model, version=version, mix=mix)


def callers(number: int, *, model: str, mix: str) -> Stream:
    """This many requests under way at any time: more come each second than the model answers."""
    segments = (Segment(qps=float(number), seconds=HOURS),)
    return Stream(segments=segments, model=model, mix=mix, patience_seconds=60.0, most_waiting=number)


class Rig:
    """The stack for rehearsals in a state folder, which the user calls `name`.

    Raises:
        NoRehearsal: none runs there.
        ClientError: its Prometheus does not answer.
    """

    def __init__(self, folders: Folders, name: str) -> None:
        started = rehearsal.running(folders, name)
        self.folders = folders
        self.speed = started.speed
        self.fleet_file = started.fleet_file
        self._services = [native.describe(part) for part in native.known(folders)]
        # A drill that was killed may have left faults behind.
        folders.faults_file.unlink(missing_ok=True)
        plan = build_plan(load_fleet(started.fleet_file), started.fleet_file.parent)
        self.prometheus = PrometheusClient(plan.addresses.prometheus_url, cluster=plan.cluster)
        self.alertmanager = AlertmanagerClient(plan.addresses.alertmanager_url)
        self.replica = plan.replicas[0]
        self.triton = TritonClient(self.replica.http_url, timeout_seconds=_LOAD_SECONDS)
        self.robot = Transport(self.part("robot").url.removesuffix("/messages"))
        self.traffic = Traffic(self.replica.http_url)
        self.asked = (TritonClient(self.replica.http_url, timeout_seconds=2.0, retries=0),)
        """The replicas that triage asks about themselves."""

    def part(self, name: str) -> Part:
        """A process of the stack, as it runs now.

        Raises:
            StackError: the stack has no such part.
        """
        for part in native.known(self.folders):
            if part.name == name:
                return part
        raise StackError(f"the stack has no part {name}; it was not started with --drills")

    def revive(self) -> tuple[str, ...]:
        """Start parts again that ended since this rig was made; returns their names.

        Raises:
            StackError: one cannot be started.
        """
        ended = [
            service for service in self._services if service and self.part(service.name).process() is None
        ]
        for service in ended:
            native.start_again(service, self.folders)
        return tuple(service.name for service in ended)

    @contextmanager
    def faults(self, faults: Mapping[str, object]) -> Iterator[None]:
        """Let the models have these faults."""
        new = self.folders.faults_file.with_suffix(".new")
        try:
            new.write_text(json.dumps(faults), encoding="utf-8")
            os.replace(new, self.folders.faults_file)  # noqa: PTH105 (atomic, and says so)
            yield
        finally:
            self.folders.faults_file.unlink(missing_ok=True)

    def promised(self, below: str, slo: str) -> AbstractContextManager[None]:
        """Add this SLO to the fleet file, at the model that has this line.

        Raises:
            StackError: no model has it.
        """
        added = f"{below}    slos: {{{slo}}}\n"
        return self.edited(self.fleet_file, lambda text: text.replace(below, added))

    @contextmanager
    def edited(self, path: Path, change: Callable[[str], str]) -> Iterator[None]:
        """Change a file of the state folder.

        Raises:
            StackError: the change changes nothing.
        """
        before = path.read_text(encoding="utf-8")
        after = change(before)
        if after == before:
            raise StackError(f"{path} is not as this drill expects it; start the stack again")
        try:
            path.write_text(after, encoding="utf-8")
            yield
        finally:
            path.write_text(before, encoding="utf-8")

    @contextmanager
    def reconfigured(self, model: str, change: Callable[[str], str]) -> Iterator[None]:
        """Let a model be loaded with another config.pbtxt."""
        try:
            with self.edited(self.folders.models / model / "config.pbtxt", change):
                self.triton.load(model)
                yield
        finally:
            self.load(model)

    def load(self, model: str) -> None:
        """Load a model again and wait until it is ready.

        Triton does not load a model again, nor start its dead workers, while its code looks the same: hence
        the touch.
        """
        for code in (self.folders.models / model).glob("*/model.py"):
            code.touch()
        self.triton.load(model)
        wait_for(lambda: self.triton.model_ready(model) or None, f"{model} to be ready", _LOAD_SECONDS)


class Traffic:
    """What is sent now; nothing at first. Not for use by several threads."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._running: list[Background] = []
        self._streams: tuple[Stream, ...] = ()

    def switch(self, streams: Sequence[Stream]) -> None:
        """Send this from now on; returns when the first requests are on their way.

        Raises:
            ClientError: the models cannot be asked.
        """
        if tuple(streams) == self._streams and all(run.alive for run in self._running):
            return
        self.stop()
        self._running = [Background(_plan(self._url, stream)) for stream in streams]
        self._streams = tuple(streams)
        for run in self._running:
            run.wait_started(_PATIENCE_SECONDS)

    def stop(self) -> None:
        """Send nothing more; returns when every answer is here."""
        for run in self._running:
            run.stop()
        for run in self._running:
            run.join()
        self._running, self._streams = [], ()


def _plan(url: str, stream: Stream) -> LoadPlan:
    return LoadPlan(
        segments=stream.segments,
        urls=(url,),
        model=stream.model,
        version=stream.version,
        mix=parse_mix(stream.mix),
        timeout_seconds=stream.patience_seconds,
        max_in_flight=stream.most_waiting,
    )
