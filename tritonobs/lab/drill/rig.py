"""A running stack for drills: its clients, its faults, and how they are undone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.transport import Transport
from tritonobs.clients.triton import TritonClient
from tritonobs.errors import StackError
from tritonobs.lab.drill.traffic import Traffic
from tritonobs.lab.stack import native, rehearsal
from tritonobs.lab.stack.processes import Part
from tritonobs.lab.stack.services import Folders
from tritonobs.lab.stack.waiting import wait_for
from tritonobs.plan.build import build_plan
from tritonobs.spec.load import load_fleet
from tritonobs.triage.snapshot import Sources

_LOAD_SECONDS = 90.0


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
        self.sources = Sources(
            prometheus=self.prometheus,
            alertmanager=self.alertmanager,
            replicas=(TritonClient(self.replica.http_url, timeout_seconds=2.0, retries=0),),
        )

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
        """Let the fleet file promise this SLO to the model that has this line.

        Raises:
            StackError: no model has it.
        """
        added = f"{below}    slos: {{{slo}}}\n"
        return self.edited(self.fleet_file, lambda text: text.replace(below, added))

    @contextmanager
    def edited(self, path: Path, change: Callable[[str], str]) -> Iterator[None]:
        """Let a file of the state folder read otherwise.

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

        Triton leaves a loaded model as it is, and its dead workers dead, while its code looks the same: hence
        the touch.
        """
        for code in (self.folders.models / model).glob("*/model.py"):
            code.touch()
        self.triton.load(model)
        wait_for(lambda: self.triton.model_ready(model) or None, f"{model} to be ready", _LOAD_SECONDS)
