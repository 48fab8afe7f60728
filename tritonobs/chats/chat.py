"""What a chat is: facts of its vendor, and how a message of ours becomes one of its own. No I/O.

A chat that Alertmanager sends to by itself is a `Chat`; one whose robots `tritonobs serve` delivers to is a
`RobotChat`. Texts that reach a chat are on one line, without control characters and common markup
(`tritonobs.delivery.view.plain`); `escape` takes away what only this chat would read as markup.

A chat's own model of its settings puts together the parts at the end of this file, and adds its own. Fields
stand in the reference in the order of the parts, the last one first.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeVar
from urllib.parse import SplitResult

from pydantic import Field, model_validator

from tritonobs.outside import read_json
from tritonobs.section import File, Language, Match, ReceiverName, Section, optional_list

MOST_VALUES: Final = 1000
"""In the JSON of an answer."""
_LONGEST_SAID, _MOST_BUTTONS = 200, 6
_LONGEST_PAUSE_SECONDS = 600.0
OK, TOO_MANY = 200, 429
"""Statuses of HTTP."""
# An entity is shown as the character that it names; emphasis begins and ends at the border of a word.
_ENTITY, _UNDERSCORE = re.compile(r"&(?=#?\w+;)"), re.compile(r"(?<![^\W_])_|_(?![^\W_])")

_Code = TypeVar("_Code", int, str)
Name = Annotated[str, Field(pattern=r"^[\w.@-]{1,128}$")]
"""What a chat calls a person: it stands in the markup of a message, so it is no more than a word."""


class Verdict(enum.Enum):
    """What an answer means for the message and the robot."""

    ACCEPTED = "accepted"
    TOO_FAST = "too_fast"
    """More messages than the vendor takes: the robot is muted for a while."""
    TOO_LONG = "too_long"
    CONTENT = "content"
    """A text, a link or the form of this message; the robot takes others."""
    BUSY = "busy"
    REFUSED = "refused"
    """Token, signature, keyword or address: a person has to repair a setting."""
    UNKNOWN = "unknown"
    """An undocumented answer: try again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The vendor's answer. `text` is cut and comes from outside: show it as data.

    `hint` is ours: what to repair. `pause_seconds` is how long the vendor wants no message, where it says so.
    """

    verdict: Verdict
    code: str
    text: str = ""
    hint: str = ""
    pause_seconds: float | None = None

    @property
    def said(self) -> str:
        """`310000: sign not match (what to repair)`."""
        return f"{self.code}: {self.text}" + (f" ({self.hint})" if self.hint else "")


class NotUnderstood(ValueError):
    """An answer that is not the vendor's; the text goes on after "answered"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An answer of HTTP. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A word and where it leads."""

    word: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The people to mention, as the fleet file names them."""

    mobiles: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    everyone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as the vendor takes it: `said` in JSON; `text` is the part of it that names the alerts."""

    title: str
    text: str
    said: Mapping[str, Any]

    def body(self) -> bytes:
        """The JSON as sent, but for a signature; its length is compared with `most_bytes`."""
        return json_body(self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A message as composed: all texts escaped, `text` in the dialect, mentions in it.

    `title` is what a telephone shows; `icon` is that of the worst alert; `links` are those of the line above
    the alerts and of the first alert.
    """

    title: str
    text: str
    people: People = People()
    icon: str = "🔴"
    links: tuple[Link, ...] = ()

    @property
    def buttons(self) -> tuple[Link, ...]:
        """The links, each once, as many as a card has buttons for."""
        return tuple(dict.fromkeys(self.links))[:_MOST_BUTTONS]


def json_body(said: object) -> bytes:
    """JSON as vendors count it: 中 has three bytes, not the six of its escape. Half a surrogate is `?`."""
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The marks of a chat's markup: before and after a text, or at the start of a line."""

    heading: tuple[str, str] = ("#### ", "")
    bold: tuple[str, str] = ("**", "**")
    quote: str = "> "
    item: str = "- "
    end: str = "  "
    """At the end of a line that another one follows in the same paragraph."""


class Chat:
    """A chat, by its name in the fleet file. Without more it is one that Alertmanager sends to."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    """One line of the reference of the fleet file."""
    section: ClassVar[type[Section]]
    """The model of an entry `notify.NAME.ENTRY`."""

    def through_serve(self, written: Section) -> bool:  # noqa: ARG002 (a chat may offer both)
        """Whether `tritonobs serve` delivers to this entry, rather than Alertmanager."""
        return isinstance(self, RobotChat)

    def receiver(self, written: Any, language: Language, base: Path) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 (the section's model)
        """The list of Alertmanager's receiver that an entry belongs to, and the entry there.

        Relative paths count from `base`.
        """
        raise NotImplementedError


class RobotChat(Chat):
    """A chat whose robots `tritonobs serve` delivers to."""

    most_bytes: ClassVar[int]
    mute_seconds: ClassVar[float]
    """How long a robot that was too fast gets nothing, where its answer does not say so."""
    spacing_seconds: ClassVar[float] = 0.0
    """Between two messages to one robot."""
    longest_link: ClassVar[int] = 1500
    """A longer address is left out of a message."""
    example: ClassVar[Mapping[str, Any]] = {}
    """Fields that an entry needs besides its webhook."""
    webhook_like: ClassVar[str]
    path_is_secret: ClassVar[bool] = True
    too_many_by_code: ClassVar[bool] = False
    """Whether only a code says that messages are too many, and not the status 429."""
    clock_codes: ClassVar[frozenset[str]] = frozenset()
    """Codes of a refused signature, which holds the time."""
    dialect: ClassVar[Dialect] = Dialect()

    def per_minute(self) -> int:
        """The messages a minute of a robot whose entry does not say so."""
        return int(self.section.model_fields["messages_per_minute"].default)

    def is_webhook(self, parts: SplitResult) -> bool:
        """Whether this address may be one of the vendor's; its host may be another's, such as a proxy's."""
        raise NotImplementedError

    def query(self, parts: SplitResult, secret: str, now: float) -> str:  # noqa: ARG002 (for signatures)
        """The query of the address that a message is posted to."""
        return parts.query

    def signed(self, body: bytes, secret: str, now: float) -> bytes:  # noqa: ARG002 (for signatures)
        """The body with the signature, where that is in it; `secret` is "" for an unsigned robot."""
        return body

    def read(self, heard: Heard) -> Reply:
        """What an answer means.

        Raises:
            NotUnderstood: it is not the vendor's, so whether the message was accepted is unknown.
        """
        if heard.status == TOO_MANY and not self.too_many_by_code:
            return Reply(
                verdict=Verdict.TOO_FAST,
                code=str(heard.status),
                text="too many requests",
                pause_seconds=retry_after(heard),
            )
        return self.judge(heard)

    def judge(self, heard: Heard) -> Reply:
        """What any other answer means; raises as `read` does."""
        raise NotImplementedError

    def escape(self, text: str) -> str:
        """A plain text without what only this chat takes for markup or a mention."""
        return text

    def link(self, word: str, url: str) -> str:
        """A link within a text; `url` has no brackets, quotes or spaces."""
        return f"[{word}]({url})"

    def mention(self, people: People) -> str:
        """The text that mentions people; "" where there are none or none is needed."""
        raise NotImplementedError

    def write(self, digest: Digest) -> Message:
        """The message of this chat."""
        raise NotImplementedError

    def numbered(self, heard: Heard, code: str, text: str, *, most_status: int = OK) -> tuple[int, str]:
        """The number and the words of an answer in JSON, by the names of their fields; the words are cut.

        Raises:
            NotUnderstood: it is not such an answer, or has a status above `most_status`.
        """
        if not OK <= heard.status <= most_status:
            raise NotUnderstood(f"{heard.status}")
        try:
            said = read_json(heard.body, most=MOST_VALUES)
            number, words = said[code], str(said.get(text, ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise NotUnderstood(f"{heard.status} and something that is not {self.title}'s") from None
        if not isinstance(number, int):
            raise NotUnderstood(f"an {code} that is not a number")
        return number, shortened(words)


def judged(answers: Mapping[_Code, tuple[Verdict, str]], code: _Code, text: str) -> Reply:
    """What an answer means by a vendor's table of verdicts and hints; what is not in it is not accepted."""
    verdict, hint = answers.get(code, (Verdict.UNKNOWN, ""))
    return Reply(verdict=verdict, code=str(code), text=text, hint=hint)


def shortened(words: str) -> str:
    """The words of an answer, on one line and cut."""
    return " ".join(words.split())[:_LONGEST_SAID]


def without_entities(text: str) -> str:
    """The text with look-alikes for what begins an entity."""
    return _ENTITY.sub("\N{FULLWIDTH AMPERSAND}", text)


def without_underscores(text: str) -> str:
    """The text with look-alikes for what begins or ends emphasis; those within a word stay."""
    return _UNDERSCORE.sub("\N{FULLWIDTH LOW LINE}", text)


def pieces(text: str, most: int) -> list[str]:
    """The text in parts of at most `most` characters, cut at lines where it can be."""
    parts = [""]
    for line in text.splitlines():
        for at in range(0, max(1, len(line)), most):
            piece = line[at : at + most]
            if parts[-1] and len(parts[-1]) + 1 + len(piece) > most:
                parts.append(piece)
            else:
                parts[-1] += ("\n" if parts[-1] else "") + piece
    return [part.strip("\n") for part in parts if part.strip()]


def retry_after(heard: Heard) -> float | None:
    """The seconds of the header, or until its date, at most ten minutes; None where it says neither."""
    written = heard.headers.get("retry-after", "")
    if written.isascii() and written.isdigit():
        return min(float(written), _LONGEST_PAUSE_SECONDS)
    try:
        until = parsedate_to_datetime(written)
        seconds = (until - datetime.now(timezone.utc)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), _LONGEST_PAUSE_SECONDS)


class MentionSpec(Section):
    """People who are mentioned by name, and for which alerts."""

    match: Match = Field(
        default_factory=dict,
        description="Labels an alert must have, each with one value or a list; every alert when left out.",
    )

    @model_validator(mode="after")
    def _calls_somebody(self) -> MentionSpec:
        ways = [field for field in type(self).model_fields if field != "match"]
        if not any(getattr(self, way) for way in ways):
            raise ValueError(f"mentions no one; write {', '.join(ways[:-1])} or {ways[-1]}")
        return self


class ByWebhook(Section):
    """A robot that is reached by a secret address."""

    webhook_file: File | None = None
    webhook_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_webhook(self) -> ByWebhook:
        if bool(self.webhook_file) == bool(self.webhook_env):
            raise ValueError("webhook_file and webhook_env: write exactly one of them")
        return self


class Signed(Section):
    """A robot whose messages may be signed."""

    secret_file: File | None = None
    secret_env: str = Field(default="", description="Environment variable with it, instead of a file.")

    @model_validator(mode="after")
    def _one_secret_at_most(self) -> Signed:
        if self.secret_file and self.secret_env:
            raise ValueError("secret_file and secret_env: write one of them, or none for an unsigned robot")
        return self


class Keyed(Section):
    """A robot that may require a keyword."""

    keyword: str = Field(
        default="", description="The keyword of a robot that requires one; every message contains it."
    )


class Delivered(Section):
    """What `tritonobs serve` needs to know of every robot."""

    failover: tuple[ReceiverName, ...] = optional_list(
        "Robots that replace this one while it is muted or broken, in this order."
    )
    mention: tuple[MentionSpec, ...] = optional_list("People who are mentioned by name.")
    language: Language | None = Field(
        default=None, description="Language of the messages; `notify.language` when left out."
    )
    template_file: File | None = Field(default=None, description="Your own Jinja2 template for the messages.")
    messages_per_minute: int = Field(default=20, ge=2)
