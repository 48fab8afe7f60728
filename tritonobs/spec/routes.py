"""Which alerts go to which receiver."""

from __future__ import annotations

import zoneinfo
from typing import Annotated

from pydantic import AfterValidator, Field

from tritonobs.spec.section import Match, Section, Texts
from tritonobs.spec.words import quoted


def _zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    # ValueError is for `../x`, OSError for a folder such as `Asia`.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"found {quoted(name)}; allowed is a time zone such as UTC or Asia/Shanghai"
        ) from None
    return name


Zone = Annotated[str, AfterValidator(_zone)]


class RouteSpec(Section):
    """Alerts with these labels go to these receivers. The first matching route decides."""

    match: Match = Field(
        default_factory=dict, description="Labels, each with one value or a list; every alert when left out."
    )
    to: Texts = Field(
        description="Receivers: dingtalk/NAME, slack/NAME, webhook/NAME, or alertmanager/NAME for one of "
        "`alertmanager_file`."
    )
    continue_: bool = Field(default=False, alias="continue", description="Try the routes below as well.")
