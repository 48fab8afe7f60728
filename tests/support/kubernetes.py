"""The part of the Kubernetes API that tritonobs asks, on loopback, as strict as the real one.

It asks for the bearer token, counts resource versions, pages lists, ends watches on time, sends bookmarks
where they are asked for, forgets old events and then says 410 Gone, keeps account of who wrote what, and
answers 409 Conflict to a write that names an old resource version.
"""

from __future__ import annotations

import copy
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from support.kubernetes_kinds import KINDS
from support.kubernetes_wire import handler
from support.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Self

    Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change as a watch tells it."""

    version: int
    kind: str
    value: Object


class KubernetesDouble(Serving):
    """A context manager; while it is open, `url` and `token` are those of an empty cluster."""

    def __init__(self, *, bookmark_seconds: float = 60.0) -> None:
        self.token = secrets.token_urlsafe(32)
        self.bookmark_seconds = bookmark_seconds
        self.asked: list[Mapping[str, str]] = []
        self.changed = threading.Condition()
        self.closing = False
        self.generation = 0
        """Watches end abruptly when it moves on."""
        self._version = 1000
        self._oldest = 0
        self._objects: dict[tuple[str, str, str], Object] = {}
        self._events: list[Event] = []
        self._refusals: list[int] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        super().__exit__()

    def annotate(
        self,
        namespace: str,
        name: str,
        annotations: Mapping[str, str | None],
        *,
        manager: str = "kubectl-annotate",
        plural: str = "deployments",
    ) -> None:
        """Create an object, or change annotations of one; None takes an annotation away."""
        with self.changed:
            key = (plural, namespace, name)
            value = copy.deepcopy(self._objects.get(key) or _object(*key))
            kind = "MODIFIED" if key in self._objects else "ADDED"
            kept = value["metadata"].setdefault("annotations", {})
            for annotation, text in annotations.items():
                kept.pop(annotation, None)
                if text is not None:
                    kept[annotation] = text
            written = [name for name, text in annotations.items() if text is not None]
            _account(value, written, manager)
            self._objects[key] = value
            self._tell(kind, value)

    def delete(self, namespace: str, name: str, *, plural: str = "deployments") -> None:
        """Take an object away."""
        with self.changed:
            self._tell("DELETED", self._objects.pop((plural, namespace, name)))

    def objects(self, plural: str) -> Sequence[Object]:
        """Everything of a kind."""
        with self.changed:
            return [copy.deepcopy(one) for key, one in sorted(self._objects.items()) if key[0] == plural]

    def forget(self) -> None:
        """Compact the history: watches and pages from before now are answered 410, running watches break."""
        with self.changed:
            self._version += 1
            self._oldest = self._version
            self._events.clear()
        self.break_watches()

    def break_watches(self) -> None:
        """Close every running watch in the middle of a line, as a dying load balancer does."""
        with self.changed:
            self.generation += 1
            self.changed.notify_all()

    def refuse(self, *statuses: int) -> None:
        """Answer the next requests with these statuses."""
        with self.changed:
            self._refusals.extend(statuses)

    def accept(self) -> None:
        """Answer every request again."""
        with self.changed:
            self._refusals.clear()

    def wait_for(self, wanted: Callable[[Self], bool], *, timeout_seconds: float) -> bool:
        """Whether `wanted` came true in time; looked at after every request and change."""
        with self.changed:
            return self.changed.wait_for(lambda: wanted(self), timeout_seconds)

    # --- what the wire asks ---

    def arrive(self, request: Mapping[str, str]) -> int:
        """Note a request; the status it is refused with, or 0."""
        with self.changed:
            self.asked.append(request)
            self.changed.notify_all()
            return self._refusals.pop(0) if self._refusals else 0

    def find(self, plural: str, namespace: str, name: str) -> Object | None:
        """One object, or None."""
        with self.changed:
            return copy.deepcopy(self._objects.get((plural, namespace, name)))

    def write(self, plural: str, namespace: str, value: Object, *, create: bool) -> tuple[int, Object]:
        """Create or replace an object; the status, and the object or what is said instead."""
        with self.changed:
            key = (plural, namespace, value["metadata"]["name"])
            old = self._objects.get(key)
            if create == (old is not None):
                return (409 if create else 404), {
                    "message": f"{plural} {key[2]}: exists is {old is not None}"
                }
            shown = value["metadata"].get("resourceVersion")
            if old is not None and shown and shown != old["metadata"]["resourceVersion"]:
                return 409, {
                    "message": "the object has been modified; please apply your changes to the latest"
                }
            made = {**_object(*key), **copy.deepcopy(value)}
            made["metadata"] = {**_object(*key)["metadata"], **made["metadata"]}
            self._objects[key] = made
            self._tell("ADDED" if create else "MODIFIED", made)
            return (201 if create else 200), copy.deepcopy(made)

    def page(
        self, plural: str, namespace: str, limit: int, after: str
    ) -> tuple[Sequence[Object], str, int] | None:
        """Objects, the token of the next page, and the version of the list; None when the token expired."""
        with self.changed:
            version, start = (int(part) for part in (after or f"{self._version}:0").split(":"))
            if version < self._oldest:
                return None
            found = [
                value
                for key, value in sorted(self._objects.items())
                if key[0] == plural and namespace in ("", key[1])
            ]
            end = start + limit if limit else len(found)
            return found[start:end], f"{version}:{end}" if end < len(found) else "", version

    def wait_for_events(
        self, version: int, generation: int, seconds: float
    ) -> tuple[Sequence[Event] | None, int, bool]:
        """Events later than `version` as soon as there are any, the newest version, and whether to break off.

        None instead of events when some of them are forgotten.
        """

        def broken() -> bool:
            return self.closing or self.generation != generation

        with self.changed:
            self.changed.wait_for(lambda: broken() or self._after(version) != [], max(seconds, 0))
            return self._after(version), self._version, broken()

    def _after(self, version: int) -> Sequence[Event] | None:
        if version < self._oldest:
            return None
        return [event for event in self._events if event.version > version]

    def _tell(self, kind: str, value: Object) -> None:
        self._version += 1
        value["metadata"]["resourceVersion"] = str(self._version)
        self._events.append(Event(version=self._version, kind=kind, value=copy.deepcopy(value)))
        self.changed.notify_all()


def _object(plural: str, namespace: str, name: str) -> Object:
    api, kind = KINDS[plural]
    metadata = {"namespace": namespace, "name": name, "uid": secrets.token_hex(16), "managedFields": []}
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def _account(value: Object, written: Sequence[str], manager: str) -> None:
    """Note who wrote these annotations, and that nobody else holds them any more."""
    metadata = value["metadata"]
    fields: Object = {f"f:{annotation}": {} for annotation in written}
    for entry in metadata["managedFields"]:
        held = entry["fieldsV1"]["f:metadata"]["f:annotations"]
        for field in fields:
            held.pop(field, None)
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": value["apiVersion"],
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:annotations": fields}},
    }
    metadata["managedFields"] = [*metadata["managedFields"], entry]
