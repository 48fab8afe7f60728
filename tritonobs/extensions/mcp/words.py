"""The short text of an answer, and the calls that probably say more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tritonobs.extensions.mcp.ask import Said
from tritonobs.extensions.mcp.schemas import Next
from tritonobs.report.formats import latency, rate, share
from tritonobs.units import format_duration, format_moment

_HEADS = {"wrong": "UNHEALTHY", "healthy": "HEALTHY", "blind": "NO VERDICT"}
_MOST = 3
_RATES = ("qps", "tokens_in", "tokens_out")
_Json = Mapping[str, Any]


def unread(said: Said) -> tuple[tuple[str, str], ...]:
    """What a command could not read, or does not know: by its answer, then by what it said beside it."""
    unseen = said.value.get("unseen", []) if isinstance(said.value, dict) else []
    return (*((one["what"], one.get("why", "")) for one in unseen), *(("", line) for line in said.beside))


def verdict(value: _Json) -> str:
    """The sentence, since when, and what to do first."""
    text = f"{_HEADS.get(value['status'], value['status'])}: {value['sentence']}."
    causes = value.get("causes", [])
    if causes and causes[0].get("since"):
        text += f" Since {format_moment(causes[0]['since'])}."
    steps = causes[0].get("next_steps", []) if causes else []
    if steps:
        text += f" Do: {steps[0]}."
    if len(causes) > 1:
        text += f" {len(causes) - 1} more causes."
    return text


def after_triage(value: _Json) -> tuple[Next, ...]:
    """The page of the first cause, then the stages of its model; without a verdict, what else can be read."""
    if value["status"] == "blind":
        return (
            Next(tool="alerts", arguments={}, why="alerts that fire"),
            Next(tool="models", arguments={"source": "servers"}, why="the servers themselves"),
        )
    found = []
    for cause in value.get("causes", [])[:1]:
        found.append(Next(tool="runbook", arguments={"name": cause["check"]}, why="how to fix it"))
        model = cause.get("place", [""])[:1]
        if model and model[0]:
            found.append(Next(tool="stages", arguments={"model": model[0]}, why="where its time goes"))
    if value.get("firing") and not found:
        found.append(Next(tool="alerts", arguments={}, why="alerts that fire nevertheless"))
    return tuple(found)


def stages(tables: Sequence[_Json]) -> str:
    """The slowest part of each model version."""
    said = []
    for table in tables[:_MOST]:
        leaves = [row for row in table.get("rows", []) if row.get("leaf") and row.get("seconds")]
        request = table["request"]
        text = f"{table['model']}: {rate(request['rate'])}/s, mean {latency(request.get('mean'))}"
        if leaves:
            slowest = max(leaves, key=lambda row: row["seconds"])
            where = " / ".join(slowest["path"])
            text += f", most of it in {where}: {latency(slowest['seconds'])}, {share(slowest.get('share'))}"
        said.append(text)
    return _listed(said, len(tables), "no requests")


def models(view: _Json) -> str:
    """The busiest, and those over a limit."""
    rows = view.get("rows", [])
    said = [
        f"{row['model']} {rate(row['qps'])}/s"
        + (f" of {rate(row['limit'])}" if row.get("limit") is not None else "")
        + (f", {share(row['error_ratio'])} errors" if row.get("error_ratio") else "")
        for row in rows[:_MOST]
    ]
    over = sum(row.get("limit") is not None and row.get("limited_qps", 0.0) > row["limit"] for row in rows)
    return _listed(said, len(rows), "no model was seen") + (f" {over} over a limit." if over else "")


def slow(requests: Sequence[_Json]) -> str:
    """How long the slowest took."""
    if not requests:
        return "no traced request in that time"
    call = requests[0]["call"]
    phases = {name: (one["end_ns"] - one["start_ns"]) / 1e9 for name, one in call.get("phases", {}).items()}
    inside = {name: seconds for name, seconds in phases.items() if name != "request"}
    text = f"{len(requests)} requests; the slowest took {latency(phases.get('request'))}"
    if inside:
        longest = max(inside, key=lambda name: inside[name])
        text += f", of which {longest} {latency(inside[longest])}"
    return text + "."


def alerts(found: Sequence[_Json]) -> str:
    """How many fire, and the first of them."""
    firing = [one["name"] for one in found if one["state"] == "firing"]
    pending = len(found) - len(firing)
    names = list(dict.fromkeys(firing))
    return _listed(names[:_MOST], len(names), "no alert fires") + (f" {pending} pending." if pending else "")


def after_alerts(found: Sequence[_Json]) -> tuple[Next, ...]:
    """The runbook of the first alert."""
    name = next((one["name"] for one in found if one["state"] == "firing"), "")
    return (Next(tool="runbook", arguments={"name": name}, why="what to do about it"),) if name else ()


def incidents(found: Sequence[_Json]) -> str:
    """How many, and the latest."""
    if not found:
        return "no incident is kept"
    one = found[0]
    causes = one.get("causes") or [{}]
    about = causes[0].get("sentence") or ", ".join(one.get("models", [])[:_MOST]) or "an unknown cause"
    end = f"ended {format_moment(one['ended'])}" if one.get("ended") else "ongoing"
    return f"{len(found)} incidents; the latest, {one['id']}, {end}: {about}"


def limits(found: Sequence[_Json]) -> str:
    """The first ones."""
    said = [
        f"{one.get('model') or 'the fleet'} {next(filter(None, map(one.get, _RATES)), '')}/s"
        for one in found[:_MOST]
    ]
    return _listed(said, len(found), "the fleet file sets no limit")


def limit_history(found: Sequence[_Json]) -> str:
    """The latest change."""
    if not found:
        return "no change is in the log"
    one = found[0]
    return (
        f"{len(found)} changes; the latest {one['at']}: {one['field']} from {one.get('old') or 'nothing'} "
        f"to {one.get('new') or 'nothing'}"
    )


def backtest(value: _Json) -> str:
    """How often, and for how long."""
    episodes = value.get("episodes", [])
    seconds = sum(one["end"] - one["start"] for one in episodes)
    over = format_duration(round(value["seen_seconds"]))
    if not episodes:
        return f"no alert would have fired in {over} of history"
    lasted = format_duration(round(seconds))
    return f"{len(episodes)} alerts would have fired in {over} of history, {lasted} in all"


def series(value: _Json, name: str) -> str:
    """What the first one counts, or the name that was meant."""
    found = [*value.get("series", {}).values()]
    if found:
        one = found[0]
        text = f"{one['name']}: a {one['type']}, in {one['unit']}"
        return text + (f"; counts {one['counts']}" if one.get("counts") else "") + "."
    wrong = value.get("misnamed", {}).get(name)
    if wrong:
        return f"{name} does not exist: {wrong.get('why', '')}" + (
            f"; use {wrong['instead']}" if wrong.get("instead") else ""
        )
    return f"{name} is not in the catalogue"


def queried(value: _Json) -> str:
    """How many series, and the last value of the first."""
    found = value.get("series", [])
    if not found:
        return "no series"
    last = found[0]["points"][-1][1] if found[0].get("points") else "no value"
    return f"{len(found)} series; the last value of the first is {last}"


def _listed(said: Sequence[str], of: int, nothing: str) -> str:
    if not said:
        return nothing + "."
    return "; ".join(said) + (f"; and {of - len(said)} more" if of > len(said) else "") + "."
