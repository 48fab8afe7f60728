"""The tools that read: each runs one command, or asks one server, and says what it found.

A tool whose command was taken out of the installation is not offered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import anyio
from pydantic import Field

from tritonobs.cli import COMMANDS
from tritonobs.extensions.mcp import schemas, words
from tritonobs.extensions.mcp.answers import Found, valid
from tritonobs.extensions.mcp.ask import Commands, Fleet, Said, Unanswered, Where
from tritonobs.extensions.mcp.manual import about, manual
from tritonobs.extensions.mcp.servers import alerts, run_query
from tritonobs.registry import commands as commands_below
from tritonobs.units import parse_duration

_DAY: Final = 86_400
_MINUTE, _HALF_MINUTE = 60.0, 30.0
_BRIEF, _USUAL, _LONG = 20.0, 60.0, 75.0
"""Seconds that a call may take: a command reads one file, asks servers, or reads days of history."""

Model = Annotated[str, Field(max_length=256, description="only this model; empty for all")]
OneModel = Annotated[str, Field(min_length=1, max_length=256, description="the model")]
Version = Annotated[str, Field(max_length=64, description="only this version of the model")]
Duration = Annotated[
    str,
    Field(
        pattern=r"^([0-9]{1,6}(ms|s|m|h|d|w))+$", max_length=24, description="a duration like 30s, 10m or 7d"
    ),
]
DurationOrNone = Annotated[str, Field(pattern=r"^(([0-9]{1,6}(ms|s|m|h|d|w))+)?$", max_length=24)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool: the command that it needs ("" for none), and its title."""

    needs: str
    title: str


OFFERED: Final = {
    "triage": Offered(needs="triage", title="What is wrong, since when, why, what to do"),
    "stages": Offered(needs="stages", title="Where the time of a request goes"),
    "models": Offered(needs="top", title="Every model now"),
    "slow_requests": Offered(needs="traces", title="The slowest traced requests to a model"),
    "alerts": Offered(needs="", title="Alerts that fire or are pending"),
    "incidents": Offered(needs="incidents", title="Incidents that were kept"),
    "limits": Offered(needs="limits", title="Limits in force"),
    "limit_history": Offered(needs="limits", title="Who changed which limit, and why"),
    "backtest": Offered(needs="limits backtest", title="Alerts that another limit would have caused"),
    "runbook": Offered(needs="", title="A runbook, or the page of a check"),
    "explain_series": Offered(needs="lint", title="What a series counts, and what not"),
    "query": Offered(needs="", title="A PromQL query, checked and bounded"),
}


def is_there(command: str) -> bool:
    """Whether this installation has the command: `triage`, or `limits backtest`."""
    group, _, name = command.partition(" ")
    if name:
        return any(one.name == name for one in commands_below(group))
    return not group or group in COMMANDS


def at_most(text: str, seconds: int, what: str) -> str:
    """The duration.

    Raises:
        Unanswered: it is longer, or none.
    """
    if not 0 < parse_duration(text) <= Decimal(seconds):
        raise Unanswered(f"{what}: found {text}; allowed is up to {seconds // _DAY or 1} d")
    return text


def _found(form: str, said: Said, schema: Any, text: Callable[[Any], str]) -> Found:  # noqa: ANN401 (a type)
    """What a command said, as its schema has it."""
    value = valid(said.value, schema)
    return Found(form=form, value=value, text=text(value), unread=words.unread(said))


class Tools:
    """A method for each tool. Its docstring is what an agent reads before it chooses.

    Beside `Found` stands the type of what was found.
    """

    def __init__(self, fleet: Fleet, commands: Commands) -> None:
        self._fleet, self._commands = fleet, commands

    async def _where(self) -> Where:
        return await anyio.to_thread.run_sync(self._fleet.where)

    async def triage(
        self,
        *,
        model: Model = "",
        version: Version = "",
        since: Duration = "10m",
        at: Annotated[
            str, Field(max_length=40, description="when it ended: now, now-2h, 2026-05-01T10:00Z")
        ] = "now",
    ) -> Annotated[Found, schemas.Verdict]:
        """Say what is wrong with the fleet, since when, why, and what to do now. Call this first.

        Compares the last minutes (`since`) with the time before. Causes are in the order in which to look at
        them, with their evidence. `status` is "blind" when not everything could be read.
        """
        where = await self._where()
        said = await self._commands.json(
            "triage",
            *((str(where.fleet),) if where.fleet else ()),
            *where.named,
            f"--model={model}",
            f"--version={version}",
            f"--since={at_most(since, 7 * _DAY, 'since')}",
            f"--at={at}",
            seconds=_USUAL,
        )
        value = valid(said.value, schemas.Verdict)
        return Found(
            form="triage",
            value=value,
            text=words.verdict(value),
            unread=words.unread(said),
            next=words.after_triage(value),
        )

    async def stages(
        self,
        *,
        model: Model = "",
        version: Version = "",
        window: Annotated[
            DurationOrNone,
            Field(description="a duration like 10m; empty for the last minute, or four scrapes"),
        ] = "",
    ) -> Annotated[Found, tuple[schemas.StageTable, ...]]:
        """Show where the time of a request goes, stage by stage, through all models that a pipeline calls."""
        where = await self._where()
        said = await self._commands.json(
            "stages",
            *where.asked,
            f"--model={model}",
            f"--version={version}",
            f"--window={at_most(window, 7 * _DAY, 'window') if window else where.window(_MINUTE)}",
            seconds=_USUAL,
        )
        return _found("stages", said, tuple[schemas.StageTable, ...], words.stages)

    async def models(
        self,
        *,
        model: Annotated[str, Field(max_length=256, description="only models whose name contains this")] = "",
        source: Annotated[
            Literal["prometheus", "servers"],
            Field(description="servers reads their own pages, which takes 7 s and needs no Prometheus"),
        ] = "prometheus",
    ) -> Annotated[Found, schemas.ModelsView]:
        """Show every model version now: requests, limit, errors, latency, queue, workers; busiest first."""
        where = await self._where()
        fleet = (str(where.fleet),) if where.fleet else ()
        asked = (*where.asked, f"--window={where.window(_HALF_MINUTE)}") if source == "prometheus" else ()
        said = await self._commands.json("top", *fleet, *asked, "--once", seconds=_USUAL)
        value = valid(said.value, schemas.ModelsView)
        rows = [row for row in value.get("rows", []) if model.lower() in row["model"].lower()]
        value["rows"] = sorted(rows, key=lambda row: (-row["qps"], row["model"], row["version"]))
        return Found(form="models", value=value, text=words.models(value), unread=words.unread(said))

    async def slow_requests(
        self,
        *,
        model: OneModel,
        since: Duration = "10m",
    ) -> Annotated[Found, tuple[schemas.SlowRequest, ...]]:
        """Show the slowest traced requests to a model, the slowest first, and where each of them waited."""
        where = await self._where()
        said = await self._commands.json(
            "traces",
            "slow",
            f"--model={model}",
            f"--since={at_most(since, _DAY, 'since')}",
            f"--receiver={where.receiver}",
            seconds=_BRIEF,
        )
        return _found("slow_requests", said, tuple[schemas.SlowRequest, ...], words.slow)

    async def alerts(self) -> Annotated[Found, tuple[schemas.Alert, ...]]:
        """List the alerts that fire or are pending, and whether each is silenced. `runbook` explains one."""
        where = await self._where()
        async with self._commands.turn("alerts", _BRIEF):
            value, unread = await anyio.to_thread.run_sync(alerts, where, abandon_on_cancel=True)
        return Found(
            form="alerts",
            value=value,
            text=words.alerts(value),
            unread=unread,
            next=words.after_alerts(value),
        )

    async def incidents(
        self,
        *,
        incident: Annotated[str, Field(max_length=64, description="the id of one; empty for a list")] = "",
    ) -> Annotated[Found, tuple[schemas.Incident, ...]]:
        """List incidents that were kept, the latest first, or show one: cause, alerts, what it cost."""
        where = await self._where()
        word, which = ("show", ("--", incident)) if incident else ("list", ())
        said = await self._commands.json("incidents", word, f"--fleet={where.file()}", *which, seconds=_BRIEF)
        value = valid([said.value] if incident else said.value, tuple[schemas.Incident, ...])
        return Found(form="incidents", value=value, text=words.incidents(value), unread=words.unread(said))

    async def limits(self) -> Annotated[Found, tuple[schemas.Limit, ...]]:
        """List the limits of the fleet file that are in force, and which field sets each."""
        where = await self._where()
        said = await self._commands.json("limits", "list", "--", where.file(), seconds=_BRIEF)
        return _found("limits", said, tuple[schemas.Limit, ...], words.limits)

    async def limit_history(self, *, model: Model = "") -> Annotated[Found, tuple[schemas.LimitChange, ...]]:
        """Show who changed which limit, when, from what to what, and why; the latest change first."""
        where = await self._where()
        chosen = (f"--model={model}",) if model else ()
        said = await self._commands.json("limits", "history", *chosen, "--", where.file(), seconds=_BRIEF)
        value = valid(said.value, tuple[schemas.LimitChange, ...])[::-1]
        return Found(
            form="limit_history", value=value, text=words.limit_history(value), unread=words.unread(said)
        )

    async def backtest(
        self,
        *,
        model: OneModel,
        version: Version = "",
        qps: Annotated[float | None, Field(gt=0, le=1e6, description="the limit to try, requests/s")] = None,
        objective: Annotated[
            str, Field(max_length=16, description="or the objective to try, like 99.9%")
        ] = "",
        slo: Annotated[
            str, Field(max_length=64, description="the SLO that the objective is for")
        ] = "availability",
        over: Duration = "7d",
    ) -> Annotated[Found, schemas.Backtest]:
        """List the alerts that another limit or objective would have caused in recorded history."""
        where = await self._where()
        tried = (
            *((f"--qps={qps:f}",) if qps is not None else ()),
            *((f"--objective={objective}", f"--slo={slo}") if objective else ()),
        )
        said = await self._commands.json(
            "limits",
            "backtest",
            *where.asked,
            f"--model={model}",
            f"--version={version}",
            *tried,
            f"--over={at_most(over, 31 * _DAY, 'over')}",
            seconds=_LONG,
        )
        return _found("backtest", said, schemas.Backtest, words.backtest)

    async def runbook(
        self,
        *,
        name: Annotated[
            str, Field(max_length=64, description="an alert, or a check of triage; empty for the list of all")
        ] = "",
        language: Annotated[Literal["en", "zh"], Field(description="English or Chinese")] = "en",
    ) -> Annotated[Found, schemas.Page]:
        """Show what to do about an alert (TritonQpsAboveLimit) or a cause that triage names (slow_stage)."""
        value = await anyio.to_thread.run_sync(manual, name, language)
        return Found(form="runbook", value=value, text=value["paragraphs"][0])

    async def explain_series(
        self,
        *,
        name: Annotated[
            str,
            Field(
                min_length=2, max_length=200, description="a series, or a part of its name: queue_duration"
            ),
        ],
    ) -> Annotated[Found, schemas.Catalogue]:
        """Say what a series of Triton, its backends or tritonobs counts: unit, labels, releases, pitfalls."""
        said = await self._commands.json("lint", "--catalogue", seconds=_BRIEF)
        value = about(valid(said.value, schemas.Catalogue), name)
        return Found(form="explain_series", value=value, text=words.series(value, name))

    async def query(
        self,
        *,
        expression: Annotated[
            str, Field(min_length=1, max_length=4000, description="PromQL, without comments")
        ],
        over: Annotated[DurationOrNone, Field(description="7d at most; empty for now")] = "",
    ) -> Annotated[Found, schemas.QueryResult]:
        """Ask Prometheus, where no other tool answers. `explain_series` says which series there are.

        The linter reads the expression first and refuses what is wrong about Triton's series. A range of at
        most 7 days and 100 points a series are read.
        """
        where = await self._where()
        value, unread = await run_query(self._commands, where, expression, over)
        return Found(form="query", value=value, text=words.queried(value), unread=unread)
