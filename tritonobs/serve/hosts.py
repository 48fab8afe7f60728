"""The host names of serve: a web page cannot reach it under another name (DNS rebinding)."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from tritonobs.plan.fleet import Plan


def known_names(plan: Plan) -> frozenset[str]:
    """The names the fleet file gives serve, and the receiver of traces."""
    urls = (plan.addresses.serve_url, plan.traces.receiver_url)
    names = (*(urlsplit(url).hostname or "" for url in urls), *plan.addresses.serve_names)
    return frozenset(name.lower() for name in names if name)


def is_known(host: str, names: Collection[str], here: str) -> bool:
    """Whether the `Host` header names this machine: loopback, `here` (the address asked), or a known name.

    A browser that was led here by another site's name (DNS rebinding) shows that name, so it is refused.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    # `urlsplit` takes what stands before an @ for a user, and only the rest for the name.
    if not name or "@" in host:
        return False
    return name == "localhost" or name in names or name == here or is_loopback(name)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
