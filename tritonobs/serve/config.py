"""The fleet file in use, and the effects of its changes. An invalid one leaves the last valid one in use.

One effect is who may post alerts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jinja2 import Template

from tritonobs.clients.secrets import Secret, read_secret
from tritonobs.delivery.composer import load_templates
from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.delivery.robots import check_secrets
from tritonobs.errors import FileUnusable, TimedOut, TritonobsError
from tritonobs.files import read_bytes
from tritonobs.plan.build import build_plan
from tritonobs.plan.fleet import Plan, known_names
from tritonobs.plan.notify import Auth, SecretSource
from tritonobs.spec.load import load_fleet
from tritonobs.tasks import Threads

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 5.0
_LOAD_SECONDS = 60.0
_MOST_BYTES = 32 * 2**20
_MOST_LOADS = 3
_MOST_AT_ONCE = 4
"""One that never returns (a lost file server) leaves room for the next reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The results of one reading of the fleet file.

    `signature` is what stood in `files`, all that were read, just before.
    """

    plan: Plan
    templates: Mapping[str, Template]
    gate: Gate | None
    host_names: frozenset[str]
    files: tuple[Path, ...]
    signature: tuple[str, ...]


def load_served(path: Path, like: Served | None = None) -> Served:
    """Read the fleet file, the templates and the secrets it names; `like` is what was read before.

    Raises:
        SpecInvalid: the file or a template cannot be used; every finding with its place.
        SecretUnusable: a secret is missing or readable by every user.
    """
    files = like.files if like else (path,)
    for _ in range(_MOST_LOADS):
        # Taken before the load: changes during it are seen at the next reading.
        signature = signature_of(files)
        served = _load(path, signature)
        if served.files == files:
            return served
        # It names files whose signature was not taken before they were read.
        files = served.files
    # A signature of other files says nothing about these; without one the next reading loads again.
    return replace(served, signature=())


def signature_of(files: Sequence[Path]) -> tuple[str, ...]:
    """What these files hold, and who may read them."""
    return tuple(_state(file) for file in files)


def _load(path: Path, signature: tuple[str, ...]) -> Served:
    # Not resolved: a ConfigMap's file is a link into a folder that goes with its next version.
    plan = build_plan(load_fleet(path), path.absolute().parent)
    templates = load_templates(plan.notify)
    check_secrets(plan.notify)
    gate = read_gate(plan.notify.auth)
    robots, auth = plan.notify.robots, plan.notify.auth
    files = (
        path,
        *(robot.template_file for robot in robots if robot.template_file),
        *([auth.file] if auth else []),
    )
    return Served(
        plan=plan,
        templates=templates,
        gate=gate,
        host_names=known_names(plan),
        files=files,
        signature=signature,
    )


class Watcher:
    """Follows the fleet file and the files it names by reading them every second."""

    def __init__(
        self, path: Path, served: Served, apply: Callable[[Served], None], metrics: DeliveryMetrics
    ) -> None:
        self._path = path
        self._apply = apply
        self._metrics = metrics
        self._served = served
        self._threads = Threads("fleet file", most=_MOST_AT_ONCE)
        self._complaint = ""
        self._note()

    async def watch(self) -> None:
        """One round: wait a moment, read."""
        await asyncio.sleep(_LOOK_AGAIN_SECONDS if self._complaint else _LOOK_SECONDS)
        await self.look()

    async def look(self) -> None:
        """Load what changed. An invalid file is read again each time: a file that it names may change.

        Raises:
            Exception: the new file could not be read for a reason that is not in it, or could not be applied.
        """
        try:
            served = await self._threads.run(self._changed, seconds=_LOAD_SECONDS)
            if served is None:
                return
            self._apply(served)
        except TimedOut as error:
            self._refuse(str(error))
            raise
        except TritonobsError as error:
            self._refuse(str(error))
            return
        except Exception as error:
            self._refuse(f"internal error: {type(error).__name__}: {error}")
            raise
        # Only now: a file that could not be applied is tried again at the next reading.
        self._served = served
        self._complaint = ""
        self._note()
        _log.info("%s: reloaded", self._path)

    def _changed(self) -> Served | None:
        """The current fleet file, if it is not in use."""
        same = signature_of(self._served.files) == self._served.signature
        return None if same and not self._complaint else load_served(self._path, self._served)

    def _refuse(self, complaint: str) -> None:
        self._metrics.valid.set(0)
        if complaint != self._complaint:
            _log.error("%s is not valid, the last valid one stays in use:\n%s", self._path, complaint)
        self._complaint = complaint

    def _note(self) -> None:
        self._metrics.valid.set(1)
        self._metrics.generation.inc()
        self._metrics.loaded.set(time.time())


def _state(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        # Content, not time: clocks of file systems are coarse, and some tools set them back.
        return f"{mode:o} {hashlib.sha256(read_bytes(path, most=_MOST_BYTES)).hexdigest()}"
    except (OSError, FileUnusable) as error:
        return f"{error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Accepts clients that send the secret: as a bearer token or, with a `username`, as its password."""

    secret: Secret
    username: str = ""

    @property
    def challenge(self) -> str:
        """The `WWW-Authenticate` header of a refusal."""
        return 'Basic realm="tritonobs"' if self.username else "Bearer"

    def header(self) -> Secret:
        """The `Authorization` header that is accepted."""
        if not self.username:
            return Secret(f"Bearer {self.secret.reveal()}")
        login = f"{self.username}:{self.secret.reveal()}".encode()
        return Secret(f"Basic {base64.b64encode(login).decode()}")

    def admits(self, authorization: str) -> bool:
        """Whether the `Authorization` header is right; the time taken reveals nothing about the secret."""
        scheme, _, shown = authorization.partition(" ")
        # Starlette reads headers as Latin-1: these are the bytes that were sent.
        given = shown.strip().encode("latin-1", "replace")
        if not self.username:
            return self.secret.matches(given) and scheme.lower() == "bearer"
        name, _, password = _decoded(given).partition(b":")
        # Both are always compared, so that a right name takes as long as a wrong one.
        named = Secret(self.username).matches(name)
        return self.secret.matches(password) and named and scheme.lower() == "basic"


def read_gate(auth: Auth | None) -> Gate | None:
    """The gate of this section, or None when every client is accepted.

    Raises:
        SecretUnusable: the file is missing, empty or readable by every user.
    """
    if auth is None:
        return None
    return Gate(secret=read_secret(SecretSource(file=auth.file), owner="notify.auth"), username=auth.username)


def _decoded(given: bytes) -> bytes:
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return b""
