"""All incidents."""

from __future__ import annotations

from typing import Final

from support.incidents import deploys, loads, ours, servers

INCIDENTS: Final = (*deploys.INCIDENTS, *servers.INCIDENTS, *loads.INCIDENTS, *ours.INCIDENTS)
