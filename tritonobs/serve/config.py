"""The fleet file in use, and what follows its changes. A bad new one leaves the last good one in use."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tritonobs.errors import SpecInvalid, TritonobsError
from tritonobs.findings import Finding, Place
from tritonobs.plan.build import build_plan
from tritonobs.serve.auth import Gate, read_gate
from tritonobs.serve.secrets import check_secrets
from tritonobs.serve.template import try_template
from tritonobs.spec.load import load_fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jinja2 import Template

    from tritonobs.plan.fleet import Plan
    from tritonobs.plan.notify import Notify
    from tritonobs.serve.metrics import DeliveryMetrics

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Everything that came of one reading of the fleet file."""

    plan: Plan
    templates: Mapping[str, Template]
    gate: Gate | None


def load_served(path: Path) -> Served:
    """Read the fleet file, the templates and the secrets it names.

    Raises:
        SpecInvalid: the file or a template cannot be used; every finding with its place.
        SecretUnusable: a secret is missing or readable by every user.
    """
    plan = build_plan(load_fleet(path), path.resolve().parent)
    templates = load_templates(plan.notify)
    check_secrets(plan.notify)
    return Served(plan=plan, templates=templates, gate=read_gate(plan.notify.auth))


def load_templates(notify: Notify) -> Mapping[str, Template]:
    """By robot. Each was tried on a sample.

    Raises:
        SpecInvalid: with a finding for each that cannot be used.
    """
    templates, findings = {}, []
    for robot in notify.robots:
        if robot.template_file is None:
            continue
        try:
            templates[robot.name] = try_template(robot.template_file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            findings.append(
                Finding(
                    place=Place(file=str(robot.template_file)),
                    path=f"notify.dingtalk.{robot.name}.template_file",
                    message=f"the template cannot be used: {problem}",
                )
            )
    if findings:
        raise SpecInvalid(findings)
    return templates


class Watcher:
    """Follows the fleet file and the files it names by looking at them every second."""

    def __init__(
        self, path: Path, served: Served, apply: Callable[[Served], None], metrics: DeliveryMetrics
    ) -> None:
        self._path = path
        self._apply = apply
        self._metrics = metrics
        self._served = served
        self._seen = self._signature()
        self._complaint = ""
        self._note()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS if self._complaint else _LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Load what changed. A bad file is read anew each time: a file it names may be the cure."""
        signature = self._signature()
        if signature == self._seen and not self._complaint:
            return
        self._seen = signature
        try:
            served = await asyncio.to_thread(load_served, self._path)
        except TritonobsError as error:
            self._refuse(str(error))
            return
        except Exception as error:  # noqa: BLE001 (a slip of ours must not end the watching)
            _log.exception("%s could not be read", self._path)
            self._refuse(f"internal error: {type(error).__name__}")
            return
        self._served = served
        self._seen = self._signature()
        self._complaint = ""
        self._apply(served)
        self._note()
        _log.info("%s: loaded anew", self._path)

    def _refuse(self, complaint: str) -> None:
        self._metrics.valid.set(0)
        if complaint != self._complaint:
            _log.error("%s cannot be used, the last good one stays in use:\n%s", self._path, complaint)
        self._complaint = complaint

    def _note(self) -> None:
        self._metrics.valid.set(1)
        self._metrics.generation.inc()
        self._metrics.loaded.set(time.time())

    def _signature(self) -> tuple[object, ...]:
        notify = self._served.plan.notify
        files = [self._path, *(robot.template_file for robot in notify.robots if robot.template_file)]
        files += [*([notify.auth.file] if notify.auth else []), *self._served.plan.read_files]
        return tuple(_stat(file) for file in files)


def _stat(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode
