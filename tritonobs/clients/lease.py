"""A Lease of Kubernetes: of several copies of a program one holds it, and all can see which."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Final

from tritonobs.clients.kubernetes_api import Conflict, KubernetesApi, Missing
from tritonobs.clients.transport import Json, as_documented

API: Final = "coordination.k8s.io/v1"
LEASE_SECONDS: Final = 12
"""A holder that has not renewed for so long has lost it."""
_ASK_SECONDS = 3.0


class Lease:
    """One Lease as one of its candidates sees it. `clock` gives seconds and never goes back.

    No wall clock is trusted: a Lease counts as abandoned when this process has seen no change of it for
    its whole time, and as ours only for as long after the last renewal as no other can have taken it.
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
        """Who held it when it was last looked at."""
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
            # Another was faster. It is not ours unless a later look says so.
            self._ours_until = began
            return
        with as_documented(self._api.address(self._path), "a Lease"):
            self._seen, self._seen_at = str(made["metadata"]["resourceVersion"]), began
        self.holder = self.identity
        # Counted from before the question: the others see the change after that.
        self._ours_until = began + LEASE_SECONDS - _ASK_SECONDS
