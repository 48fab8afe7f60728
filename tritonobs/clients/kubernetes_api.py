"""One Kubernetes API server, as a program in the cluster asks it: token, authority, time, errors.

A Lease is held by one of several copies of a program, and all can see which.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from http import HTTPStatus
from http.client import responses
from pathlib import Path
from typing import Final

import requests

from tritonobs.clients.secrets import Secret, secret_text
from tritonobs.clients.transport import Json, answered, as_documented, masked, read, session, translated
from tritonobs.errors import BadAnswer, ClientError, SecretUnusable, Unreachable
from tritonobs.outside import read_json
from tritonobs.plan.kubernetes import ApiServer
from tritonobs.units import host_port

# The default of kubectl's `--chunk-size`.
PAGE: Final = 500
_CONNECT_SECONDS = 5.0
ANSWER_SECONDS: Final = 30.0
_MOST_BYTES, MOST_VALUES = 256 * 2**20, 1_000_000
_MOST_SAID_BYTES = 2**20

API: Final = "coordination.k8s.io/v1"
LEASE_SECONDS: Final = 12
"""A holder that has not renewed for this long has lost it."""
_ASK_SECONDS = 3.0


class Expired(ClientError):
    """The server no longer knows what came after the given resource version: list again."""


class Missing(ClientError):
    """There is no such object."""


class Conflict(ClientError):
    """Another client changed or made the object meanwhile."""


_OWN: Final[Mapping[int, type[ClientError]]] = {404: Missing, 409: Conflict, 410: Expired}


class KubernetesApi:
    """One API server, for a program that asks with the token in a file.

    The token is read again for every call, because Kubernetes rotates it.

    Raises:
        Unreachable: without a `url`, this is not a pod of a cluster.
    """

    def __init__(self, server: ApiServer) -> None:
        self._token_file = server.token_file
        self._ca_file = server.ca_file
        self._url = server.url or in_cluster()
        self._session = session()

    def address(self, path: str) -> str:
        """What is asked, fit to show."""
        return masked(f"{self._url}{path}")

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def pages(self, path: str, parameters: Mapping[str, str], *, accept: str = "") -> Iterator[Json]:
        """A list, page by page.

        Raises:
            Expired: the list changed too much between two pages.
            ClientError: the server was not reached or refused.
            SecretUnusable: there is no token.
        """
        following = ""
        while True:
            more = {"limit": str(PAGE)} | ({"continue": following} if following else {})
            page = self.ask("GET", path, parameters={**parameters, **more}, accept=accept)
            with as_documented(self.address(path), "a list"):
                following = page["metadata"].get("continue") or ""
            yield page
            if not following:
                return

    def ask(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: object = None,
        accept: str = "",
        seconds: float = 0.0,
    ) -> Json:
        """The answer to one request, whole within `seconds`; within 30 s where none are given.

        Raises:
            Missing: there is no such object.
            Conflict: another client changed or made it meanwhile.
            ClientError: the server was not reached or refused.
            SecretUnusable: there is no token.
        """
        request, seconds = f"{method} {self.address(path)}", seconds or ANSWER_SECONDS
        with (
            answered(request, whole_seconds=seconds, silent_seconds=seconds),
            self.open(
                path, method=method, parameters=parameters, body=body, accept=accept, seconds=seconds
            ) as answer,
        ):
            text = read(answer, _MOST_BYTES)
        with as_documented(self.address(path), "an answer"):
            return read_json(text, most=MOST_VALUES)

    def open(
        self,
        path: str,
        *,
        seconds: float,
        method: str = "GET",
        parameters: Mapping[str, str] | None = None,
        body: object = None,
        accept: str = "",
    ) -> requests.Response:
        """An answer whose body is yet to be read.

        Raises:
            ClientError: as `ask`.
            SecretUnusable: there is no token.
        """
        token = _token(self._token_file)
        request = f"{method} {self.address(path)}"
        try:
            answer = self._session.request(
                method,
                f"{self._url}{path}",
                params=parameters,
                json=body,
                headers={
                    "Accept": accept or "application/json",
                    "Authorization": f"Bearer {token.reveal()}",
                },
                timeout=(_CONNECT_SECONDS, seconds),
                verify=str(self._ca_file) if self._url.startswith("https:") else True,
                allow_redirects=False,
                stream=True,
            )
        except OSError as error:
            # requests' own errors are OSErrors too; a missing authority file is a plain one.
            if isinstance(error, requests.RequestException):
                raise translated(error, request, seconds) from None
            raise Unreachable(f"{request}: {self._ca_file} is not a certificate authority") from None
        if HTTPStatus.OK <= answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
            return answer
        with answer:
            kind = _OWN.get(answer.status_code, BadAnswer)
            raise kind(f"{request} answered {answer.status_code}: {_said(answer)}")


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
        raise Unreachable("this is not a pod of a cluster; write the API server's address as kubernetes.api")
    return f"https://{host_port(host, port)}"


def _token(file: Path) -> Secret:
    text = secret_text(file, owner="kubernetes: token file")
    # requests refuses a header with a line break in an error that quotes the header.
    if not text or not text.isascii() or len(text.split()) != 1:
        raise SecretUnusable(f"kubernetes: {file} holds no token")
    return Secret(text)


def _said(answer: requests.Response) -> str:
    try:
        return str(read_json(read(answer, _MOST_SAID_BYTES), most=_MOST_SAID_BYTES)["message"])
    except (ValueError, KeyError, TypeError, requests.RequestException):
        # A proxy may answer with a number that has no name.
        return responses.get(answer.status_code, "no reason")


class Lease:
    """One Lease as one of its candidates sees it. `clock` gives seconds and never goes back.

    No wall clock is trusted: a Lease counts as abandoned when this process has seen no change of it for its
    whole duration, and as ours only until another could have taken it after the last renewal.
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._path = f"/apis/{API}/namespaces/{namespace}/leases"
        self._namespace, self._name = namespace, name
        self.identity = identity
        self.holder = ""
        """The holder when the Lease was last read."""
        self._clock = clock
        self._seen = ""
        self._seen_at = clock()
        self._ours_until = clock()

    @property
    def held(self) -> bool:
        """Whether it is ours at this moment."""
        return self._clock() < self._ours_until

    def close(self) -> None:
        """Give the connections back."""
        self._api.close()

    def renew(self) -> None:
        """Take it, keep it, or see that another has it.

        Raises:
            ClientError: the API server was not reached or refused; what is ours stays so until it runs out.
            SecretUnusable: there is no token.
        """
        began = self._clock()
        try:
            found = self._api.ask("GET", f"{self._path}/{self._name}", seconds=_ASK_SECONDS)
        except Missing:
            self._write("POST", self._path, {}, began)
            return
        with as_documented(self._api.address(self._path), "a Lease"):
            spec = found.get("spec") or {}
            version = str(found["metadata"]["resourceVersion"])
            self.holder = str(spec.get("holderIdentity") or "")
            seconds = float(spec.get("leaseDurationSeconds") or LEASE_SECONDS)
        if version != self._seen:
            self._seen, self._seen_at = version, began
        if self.holder in ("", self.identity) or began - self._seen_at > seconds:
            self._write("PUT", f"{self._path}/{self._name}", found, began)
        else:
            self._ours_until = began

    def release(self) -> None:
        """Let another take it at once. The same errors as `renew`."""
        if not self.held:
            return
        # First: it is not ours any more, also if both requests fail.
        self._ours_until = self._clock()
        found = self._api.ask("GET", f"{self._path}/{self._name}", seconds=_ASK_SECONDS)
        if (found.get("spec") or {}).get("holderIdentity") == self.identity:
            # The API server refuses a duration of 0.
            found["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
            self._api.ask("PUT", f"{self._path}/{self._name}", body=found, seconds=_ASK_SECONDS)

    def _write(self, method: str, path: str, found: Json, began: float) -> None:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = dict(found.get("spec") or {})
        if spec.get("holderIdentity") != self.identity:
            spec |= {
                "acquireTime": now,
                "leaseTransitions": int(spec.get("leaseTransitions") or 0) + bool(found),
            }
        spec |= {"holderIdentity": self.identity, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        body = {
            "apiVersion": API,
            "kind": "Lease",
            # What was found holds the resourceVersion, so the slower of two writers gets a 409.
            "metadata": {"namespace": self._namespace, "name": self._name, **(found.get("metadata") or {})},
            "spec": spec,
        }
        try:
            made = self._api.ask(method, path, body=body, seconds=_ASK_SECONDS)
        except Conflict:
            # Another was faster. It is not ours unless a later reading says so.
            self._ours_until = began
            return
        with as_documented(self._api.address(self._path), "a Lease"):
            self._seen, self._seen_at = str(made["metadata"]["resourceVersion"]), began
        self.holder = self.identity
        # Counted from before the question: the others see the change after that.
        self._ours_until = began + LEASE_SECONDS - _ASK_SECONDS
