"""Annotations of Kubernetes objects: list, then watch from there.

Asks for metadata only, so that a large cluster costs little. Needs the verbs list and watch on the kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from tritonobs.clients.kubernetes_api import ANSWER_SECONDS, MOST_VALUES, Expired, KubernetesApi
from tritonobs.clients.transport import Json, answered, as_documented, lines
from tritonobs.errors import BadAnswer
from tritonobs.names import ANNOTATION_PREFIX
from tritonobs.outside import read_json
from tritonobs.plan.kubernetes import AnnotatedObject, WatchedKind

_META: Final = "g=meta.k8s.io;v=v1,application/json"
_LIST: Final = f"application/json;as=PartialObjectMetadataList;{_META}"
_WATCH: Final = f"application/json;as=PartialObjectMetadata;{_META}"
_MOST_LINE_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All objects at one moment; a watch goes on from `resource_version`."""

    objects: tuple[AnnotatedObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One event of a watch; a bookmark has no object."""

    kind: str
    resource_version: str
    annotated: AnnotatedObject | None = None


class KubernetesClient:
    """The objects of one kind; of one namespace, or of all. Annotations matter that begin with a prefix."""

    def __init__(
        self,
        api: KubernetesApi,
        kind: WatchedKind,
        *,
        namespace: str = "",
        prefixes: tuple[str, ...] = (ANNOTATION_PREFIX,),
    ) -> None:
        self._api, self._kind, self._prefixes = api, kind, prefixes
        root = f"/apis/{kind.api}" if "/" in kind.api else f"/api/{kind.api}"
        self._path = f"{root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{root}/{kind.plural}"

    @property
    def address(self) -> str:
        """What is asked, fit to show."""
        return self._api.address(self._path)

    def list(self) -> Listing:
        """Every object, page by page.

        Raises:
            Expired: the list changed too much between two pages.
            ClientError: the server was not reached or refused.
            SecretUnusable: there is no token.
        """
        objects: list[AnnotatedObject] = []
        version = ""
        for page in self._api.pages(self._path, {}, accept=_LIST):
            with as_documented(self.address, "a list"):
                objects += [self._read(item) for item in page.get("items") or ()]
                version = str(page["metadata"]["resourceVersion"])
        return Listing(objects=tuple(objects), resource_version=version)

    def watch(self, resource_version: str, *, seconds: int) -> Iterator[Change]:
        """What changes after `resource_version`, until the server ends the watch after about `seconds`.

        Raises:
            Expired: the version is too old.
            ClientError: the connection broke, or the server refused.
            SecretUnusable: there is no token.
        """
        parameters = {
            "watch": "1",
            # They move the version on while no object changes, or it would become too old (410).
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
        }
        # A quiet watch may be silent to its end, so one silence may last as long as the whole.
        longest = seconds + ANSWER_SECONDS
        with (
            answered(f"watch {self.address}", whole_seconds=longest, silent_seconds=longest),
            self._api.open(self._path, parameters=parameters, accept=_WATCH, seconds=longest) as answer,
        ):
            for line in lines(answer, _MOST_LINE_BYTES):
                yield self._change(line)

    def close(self) -> None:
        """Give the connections back."""
        self._api.close()

    def _change(self, line: bytes) -> Change:
        with as_documented(self.address, "a watch event"):
            event = read_json(line, most=MOST_VALUES)
            kind, value = str(event["type"]), event["object"]
            if kind == "ERROR":
                if value.get("code") == HTTPStatus.GONE:
                    raise Expired(f"{self.address}: {value.get('message', 'gone')}")
                raise BadAnswer(f"watch {self.address}: {value.get('message', 'an error without a message')}")
            version = str(value["metadata"]["resourceVersion"])
            annotated = None if kind == "BOOKMARK" else self._read(value)
            return Change(kind=kind, resource_version=version, annotated=annotated)

    def _read(self, value: Json) -> AnnotatedObject:
        metadata = value["metadata"]
        annotations = {name: str(text) for name, text in (metadata.get("annotations") or {}).items()}
        return AnnotatedObject(
            kind=self._kind.kind,
            api=self._kind.api,
            namespace=str(metadata["namespace"]),
            name=str(metadata["name"]),
            uid=str(metadata.get("uid", "")),
            annotations={name: text for name, text in annotations.items() if name.startswith(self._prefixes)},
            writers=dict(self._writers(metadata)),
        )

    def _writers(self, metadata: Json) -> Iterator[tuple[str, str]]:
        """Which program last wrote each of our annotations, as the server itself keeps account of it."""
        # By time: of several programs that wrote one annotation the last counts.
        for entry in sorted(metadata.get("managedFields") or (), key=lambda one: str(one.get("time", ""))):
            written = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:annotations") or {}
            for held in written:
                name = held.removeprefix("f:")
                if name != held and name.startswith(self._prefixes):
                    yield name, str(entry.get("manager", ""))
