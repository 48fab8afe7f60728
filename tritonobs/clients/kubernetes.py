"""The Kubernetes API as far as annotations of Deployments go: list, then watch from there.

Asks for metadata only, so that a large cluster costs little. Needs the verbs list and watch on Deployments.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import requests

from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import Json, as_documented, masked, translated
from tritonobs.errors import BadAnswer, ClientError, SecretUnusable, Unreachable
from tritonobs.names import ANNOTATION_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


PAGE: Final = 500
_META: Final = "g=meta.k8s.io;v=v1,application/json"
_LIST: Final = f"application/json;as=PartialObjectMetadataList;{_META}"
_WATCH: Final = f"application/json;as=PartialObjectMetadata;{_META}"
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 30.0


class Expired(ClientError):  # noqa: N818 (an event, like its siblings)
    """The server no longer knows what came after the given resource version: list again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A Deployment's name, our annotations on it, and which program wrote each of them last."""

    namespace: str
    name: str
    annotations: Mapping[str, str]
    writers: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All Deployments at one moment; a watch goes on from `resource_version`."""

    deployments: tuple[Deployment, ...]
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One event of a watch; a bookmark has no Deployment."""

    kind: str
    resource_version: str
    deployment: Deployment | None = None


class KubernetesClient:
    """One API server; without a `url` that of the cluster this process runs in.

    The token is read anew for every call, because Kubernetes rotates it.

    Raises:
        Unreachable: without a `url`, this is no pod of a cluster.
    """

    def __init__(self, url: str, *, token_file: Path, ca_file: Path, namespace: str = "") -> None:
        self._token_file = token_file
        self._ca_file = ca_file
        where = f"/namespaces/{namespace}/deployments" if namespace else "/deployments"
        self._url = f"{url or in_cluster()}/apis/apps/v1{where}"
        self._session = requests.Session()

    @property
    def address(self) -> str:
        """What is asked, fit to show."""
        return masked(self._url)

    def list(self) -> Listing:
        """Every Deployment, page by page.

        Raises:
            Expired: the list changed too much between two pages.
            ClientError: the server was not reached or refused.
            SecretUnusable: there is no token.
        """
        deployments: list[Deployment] = []
        following = ""
        while True:
            parameters = {"limit": str(PAGE)} | ({"continue": following} if following else {})
            with (
                self._get(_LIST, parameters, _ANSWER_SECONDS) as answer,
                as_documented(self.address, "a list"),
            ):
                page = json.loads(answer.content)
                deployments += [_deployment(item) for item in page.get("items") or ()]
                following = page["metadata"].get("continue") or ""
                if not following:
                    version = str(page["metadata"]["resourceVersion"])
                    return Listing(deployments=tuple(deployments), resource_version=version)

    def watch(self, resource_version: str, *, seconds: int) -> Iterator[Change]:
        """What changes after `resource_version`, until the server ends the watch after about `seconds`.

        Raises:
            Expired: the version is too old.
            ClientError: the connection broke, or the server refused.
            SecretUnusable: there is no token.
        """
        parameters = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
        }
        with self._get(_WATCH, parameters, seconds + _ANSWER_SECONDS) as answer:
            try:
                for line in answer.iter_lines(chunk_size=None):
                    if line:
                        yield self._change(line)
            except requests.RequestException as error:
                raise translated(error, f"watch {self.address}", seconds + _ANSWER_SECONDS) from None

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def _get(self, accept: str, parameters: Mapping[str, str], seconds: float) -> requests.Response:
        token = _token(self._token_file)
        try:
            answer = self._session.get(
                self._url,
                params=parameters,
                headers={"Accept": accept, "Authorization": f"Bearer {token.reveal()}"},
                timeout=(_CONNECT_SECONDS, seconds),
                verify=str(self._ca_file) if self._url.startswith("https:") else True,
                allow_redirects=False,
                stream=True,
            )
        except OSError as error:
            # requests' own errors are OSErrors too; a missing authority file is a plain one.
            if isinstance(error, requests.RequestException):
                raise translated(error, f"GET {self.address}", seconds) from None
            raise Unreachable(f"GET {self.address}: {self._ca_file} is no authority to trust") from None
        if answer.status_code == HTTPStatus.GONE:
            answer.close()
            raise Expired(f"{self.address}: the resource version is too old")
        if answer.status_code != HTTPStatus.OK:
            with answer:
                raise BadAnswer(f"GET {self.address} answered {answer.status_code}: {_said(answer)}")
        return answer

    def _change(self, line: bytes) -> Change:
        with as_documented(self.address, "a watch event"):
            event = json.loads(line)
            kind, value = str(event["type"]), event["object"]
            if kind == "ERROR":
                if value.get("code") == HTTPStatus.GONE:
                    raise Expired(f"{self.address}: {value.get('message', 'gone')}")
                raise BadAnswer(f"watch {self.address}: {value.get('message', 'an error without a message')}")
            version = str(value["metadata"]["resourceVersion"])
            deployment = None if kind == "BOOKMARK" else _deployment(value)
            return Change(kind=kind, resource_version=version, deployment=deployment)


def _deployment(value: Json) -> Deployment:
    metadata = value["metadata"]
    annotations = {name: str(text) for name, text in (metadata.get("annotations") or {}).items()}
    return Deployment(
        namespace=str(metadata["namespace"]),
        name=str(metadata["name"]),
        annotations={name: text for name, text in annotations.items() if name.startswith(ANNOTATION_PREFIX)},
        writers=dict(_writers(metadata)),
    )


def _writers(metadata: Json) -> Iterator[tuple[str, str]]:
    """Which program last wrote each of our annotations, as the server itself keeps account of it."""
    for entry in sorted(metadata.get("managedFields") or (), key=lambda one: str(one.get("time", ""))):
        written = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:annotations") or {}
        for held in written:
            if held.startswith(f"f:{ANNOTATION_PREFIX}"):
                yield held.removeprefix("f:"), str(entry.get("manager", ""))


def _token(file: Path) -> Secret:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretUnusable(f"kubernetes: cannot read the token file {file}: {error}") from None
    if not text or not text.isascii() or len(text.split()) != 1:
        raise SecretUnusable(f"kubernetes: {file} holds no token")
    return Secret(text)


def in_cluster() -> str:
    """The API server of the cluster this process runs in.

    Raises:
        Unreachable: it runs in none.
    """
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST", ""),
        os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    if not host:
        raise Unreachable("this is no pod of a cluster; write the API server's address as kubernetes.api")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _said(answer: requests.Response) -> str:
    try:
        return str(json.loads(answer.content)["message"])
    except (ValueError, KeyError, TypeError, requests.RequestException):
        return HTTPStatus(answer.status_code).phrase if answer.status_code in set(HTTPStatus) else "no reason"
