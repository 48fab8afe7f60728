"""All incidents."""

from __future__ import annotations

from typing import Final

from support.incidents import again, deploys, loads, ours, rest, servers

INCIDENTS: Final = (
    *deploys.INCIDENTS,
    *servers.INCIDENTS,
    *loads.INCIDENTS,
    *ours.INCIDENTS,
    *rest.INCIDENTS,
    *again.INCIDENTS,
)
