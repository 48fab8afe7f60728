"""The `notify:` section of fleet.yaml: receivers, routes, messages. Secrets are named, never held."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model, model_validator

from tritonobs.chats.chat import Chat, Delivered
from tritonobs.chats.registry import chats
from tritonobs.findings import quoted
from tritonobs.section import MOST_ENTRIES, File, Language, Match, ReceiverName, Section, Texts
from tritonobs.spec.values import Duration, Name, Url


class WebhookSpec(Section):
    """Any HTTP service. If its address is a secret, `tritonobs serve` forwards the alerts."""

    url: Url | None = Field(default=None, description="The address, if it is not a secret.")
    url_file: File | None = Field(default=None, description="File with the address, if it is a secret.")
    url_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_address(self) -> WebhookSpec:
        if sum(map(bool, (self.url, self.url_file, self.url_env))) != 1:
            raise ValueError("url, url_file and url_env: write exactly one of them")
        return self


class NightingaleSpec(Section):
    """What `build --target n9e` writes into each rule for Nightingale; what is left out is chosen there."""

    data_sources: tuple[Name, ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Names of its data sources, with `*` for any text; all of them when left out.",
    )
    notify_rules: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Numbers of its notification rules; no message is sent when left out.",
    )


class DeadManSpec(WebhookSpec):
    """A service that raises the alarm when the Watchdog alert stops arriving."""

    every: Duration = Field(default=Decimal(60), description="How often the Watchdog alert is sent.")

    @model_validator(mode="after")
    def _not_too_often(self) -> DeadManSpec:
        least = 15
        if self.every < least:
            raise ValueError(f"every: allowed are {least}s and more")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAlertmanager:
    """The file as YAML values. Relative paths in it count from `folder`."""

    folder: Path
    # Not in a `repr`: the user's file may hold secrets.
    config: Mapping[str, Any] = field(repr=False)

    @property
    def receivers(self) -> tuple[str, ...]:
        """The names of its receivers."""
        return tuple(str(receiver.get("name", "")) for receiver in self.config.get("receivers", ()))


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
        description=f"Receivers: {', '.join(f'{name}/NAME' for name in chats())}, webhook/NAME, "
        "or alertmanager/NAME for one of `alertmanager_file`."
    )
    continue_: bool = Field(default=False, alias="continue", description="Try the routes below as well.")


class AuthSpec(Section):
    """How Alertmanager authenticates to `tritonobs serve`: a bearer token, or a name and a password."""

    token_file: File | None = Field(default=None, description="File with a bearer token.")
    username: str = Field(default="", description="Basic authentication: the name.", pattern=r"^[^:]*$")
    password_file: File | None = Field(
        default=None, description="Basic authentication: file with the password."
    )
    alertmanager_file: File | None = Field(
        default=None,
        description="The absolute path of the same file on Alertmanager's machine, if it differs.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> AuthSpec:
        if bool(self.token_file) == bool(self.password_file) or bool(self.username) != bool(
            self.password_file
        ):
            raise ValueError("write either token_file, or username and password_file")
        return self


class _Messages(Section):
    """What holds for every receiver."""

    language: Language = Field(default="en", description="Language of the messages: en or zh.")
    timezone: Zone = Field(default="UTC", description="Time zone of the times in messages.")
    auth: AuthSpec | None = Field(
        default=None,
        description="Who may post alerts to `tritonobs serve`; every client that reaches it when left out.",
    )
    alertmanager_file: File | None = Field(
        default=None,
        description="Your own `alertmanager.yml`: our receivers and routes are merged into it.",
    )


_OF_CHATS: dict[str, Any] = {
    chat.name: (
        dict[ReceiverName, chat.section],  # type: ignore[name-defined] # a value, not a name
        Field(default_factory=dict, max_length=MOST_ENTRIES, description=chat.summary),
    )
    for chat in chats().values()
}
"""A field for each chat of the registry."""


class NotifySpec(create_model("_Chats", __base__=_Messages, **_OF_CHATS)):  # type: ignore[misc] # of the registry
    """Receivers of alerts, and the messages they get."""

    webhook: dict[ReceiverName, WebhookSpec] = Field(
        default_factory=dict, max_length=MOST_ENTRIES, description="Other HTTP services."
    )
    nightingale: NightingaleSpec = Field(
        default_factory=NightingaleSpec, description="For alerts that Nightingale evaluates."
    )
    dead_man: DeadManSpec | None = Field(
        default=None, description="The service that raises the alarm when the alerting itself is down."
    )
    routes: tuple[RouteSpec, ...] = Field(
        default=(),
        max_length=MOST_ENTRIES,
        description="Which alerts go to which receivers; every alert to every receiver when left out.",
    )

    def entries(self) -> Iterator[tuple[Chat, str, Any]]:
        """Every entry of every chat: the chat, the name of the entry, and what is written."""
        for chat in chats().values():
            for name, written in getattr(self, chat.name).items():
                yield chat, name, written

    def robots(self) -> Iterator[tuple[Chat, str, Delivered]]:
        """Those that `tritonobs serve` delivers to."""
        return (entry for entry in self.entries() if entry[0].through_serve(entry[2]))
