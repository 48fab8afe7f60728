"""A client of `tritonobs serve`: posts to its webhook as Alertmanager does, reads its metrics page."""

from __future__ import annotations

import json
from collections import Counter

from tritonobs import names
from tritonobs.clients.exposition import MetricsPage, parse_page
from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import Transport

# serve holds a call for up to 30 s until the robot takes messages again (docs/delivery.md).
_POST_SECONDS = 40.0
_SERVICE_UNAVAILABLE = 503


class ServeClient:
    """One daemon; `authorization` is the whole header, where it asks for one."""

    def __init__(self, url: str, *, authorization: Secret | None = None) -> None:
        headers = {"Authorization": authorization.reveal()} if authorization else {}
        self._transport = Transport(url, timeout_seconds=_POST_SECONDS, retries=0, headers=headers)

    def post_alerts(self, robot: str, payload: bytes) -> str:
        """Post a webhook call; "" when it was delivered, else why it was not (yet).

        Raises:
            ClientError: serve was not reached, or does not want the call at all.
        """
        answer = self._transport.post_json(f"/alertmanager/dingtalk/{robot}", json.loads(payload))
        if answer.status == _SERVICE_UNAVAILABLE:
            return " ".join(answer.text.split())
        answer.required()
        return ""

    def alerts_named(self, robot: str) -> float:
        """How many firing alerts this robot's messages have named since serve started.

        Raises:
            ClientError: serve was not reached.
        """
        return self._page().total(names.DELIVERY_ALERTS, robot=robot, status="firing")

    def errors(self, robot: str) -> Counter[str]:
        """How many messages this robot did not take since serve started, by errcode or trouble.

        Raises:
            ClientError: serve was not reached.
        """
        samples = self._page().by_name.get(names.DELIVERY_ERRORS, ())
        return Counter(
            {one.labels["code"]: int(one.value) for one in samples if one.labels.get(names.ROBOT) == robot}
        )

    def _page(self) -> MetricsPage:
        return parse_page(self._transport.get("/metrics").required().text)

    def close(self) -> None:
        """Give the connections back."""
        self._transport.close()
