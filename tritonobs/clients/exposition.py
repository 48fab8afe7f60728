"""A metrics page as values: the text format as Triton prints it, read through prometheus_client's parser.

The client of `tritonobs serve` posts to its webhook as Alertmanager does, and reads its metrics page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

from prometheus_client.parser import text_string_to_metric_families

from tritonobs import names
from tritonobs.clients.secrets import Secret
from tritonobs.clients.transport import DEFAULT_TIMEOUT_SECONDS, Transport
from tritonobs.errors import BadAnswer

MOST_SAMPLES = 500_000
"""Ten times what a server with hundreds of models exports; reading them takes seconds."""
_LONGEST_LINE = 65_536
"""The parser takes four times as long for twice as many labels."""

# serve holds a call for up to 30 s until the robot accepts messages again (docs/delivery.md).
_POST_SECONDS = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSample:
    """One line of a metrics page; the value may be NaN."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsPage:
    """All samples of one page, in its order; `unreadable` are the lines that are not samples."""

    samples: tuple[PageSample, ...]
    unreadable: tuple[str, ...] = ()
    by_name: Mapping[str, tuple[PageSample, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, list[PageSample]] = {}
        for sample in self.samples:
            found.setdefault(sample.name, []).append(sample)
        object.__setattr__(self, "by_name", {name: tuple(samples) for name, samples in found.items()})

    def total(self, name: str, **labels: str) -> float:
        """The sum of a name's samples that carry these labels; 0 when there are none."""
        wanted = labels.items()
        return sum(sample.value for sample in self.by_name.get(name, ()) if wanted <= sample.labels.items())


def parse_page(text: str, *, prefixes: tuple[str, ...] = ("",)) -> MetricsPage:
    """The samples whose names start with one of `prefixes`.

    Comments are left out before parsing: a TYPE line would make the parser rename Triton's counters, which
    carry no `_total`, and nothing here needs HELP.

    Raises:
        BadAnswer: there are more than `MOST_SAMPLES` of them.
    """
    samples: list[PageSample] = []
    unreadable: list[str] = []
    # One by one, because the parser gives up on a whole text at the first line that is not a sample.
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#") or not line.startswith(prefixes):
            continue
        if len(samples) + len(unreadable) >= MOST_SAMPLES:
            raise BadAnswer(f"a metrics endpoint has more than {MOST_SAMPLES:,} samples that matter here")
        if len(line) > _LONGEST_LINE:
            unreadable.append(line[:_LONGEST_LINE])
            continue
        try:
            samples += (
                PageSample(name=name, labels=labels, value=float(value))
                for family in text_string_to_metric_families(line)
                for name, labels, value, *_ in family.samples
            )
        except (ValueError, IndexError):
            unreadable.append(line)
    return MetricsPage(samples=tuple(samples), unreadable=tuple(unreadable))


def read_page(
    metrics_url: str, *, prefixes: tuple[str, ...] = ("",), timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
) -> MetricsPage:
    """One reading of a metrics page.

    Raises:
        ClientError: no page; an empty page counts as none, because Triton answers 200 on a wrong path.
    """
    parts = urlsplit(metrics_url)
    server = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    with closing(Transport(server, timeout_seconds=timeout_seconds)) as transport:
        answer = transport.get(urlunsplit(("", "", parts.path or "/metrics", parts.query, "")))
    if answer.status == HTTPStatus.NOT_FOUND:
        raise BadAnswer(f"{answer.url} answered 404; Triton's metrics have a port of their own, usually 8002")
    answer.required()
    if not answer.text.strip():
        raise BadAnswer(f"{answer.url} returned an empty response; Triton does that on any path but /metrics")
    return parse_page(answer.text, prefixes=prefixes)


class ServeClient(Transport):
    """One daemon; `authorization` is the whole header, where it asks for one."""

    def __init__(self, url: str, *, authorization: Secret | None = None) -> None:
        headers = {"Authorization": authorization.reveal()} if authorization else {}
        super().__init__(url, timeout_seconds=_POST_SECONDS, retries=0, headers=headers)

    def post_alerts(self, receiver: str, payload: bytes) -> str:
        """Post a webhook call for `dingtalk/oncall` and the like.

        "" when it was delivered, else why it was not (yet).

        Raises:
            ClientError: serve was not reached, or refused the call.
        """
        answer = self.post_json(f"/alertmanager/{receiver}", json.loads(payload))
        if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
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
        """How many messages this robot did not accept since serve started, by errcode or trouble.

        Raises:
            ClientError: serve was not reached.
        """
        samples = self._page().by_name.get(names.DELIVERY_ERRORS, ())
        return Counter(
            {one.labels["code"]: int(one.value) for one in samples if one.labels.get(names.ROBOT) == robot}
        )

    def _page(self) -> MetricsPage:
        return parse_page(self.get("/metrics").required().text)
