"""All incidents."""

from __future__ import annotations

from typing import Final

from support.incidents import deploys

INCIDENTS: Final = (*deploys.INCIDENTS,)
