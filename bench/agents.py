"""How far an agent without any intelligence gets: it calls `triage`, then what `next` names, at most three.

python bench/agents.py [--json] [--write]

The faults are those of `bench/planted/kept`, seen on a real stack. An agent arrives where an answer names the
right cause and place, and an answer says the right thing to do, within three calls and 6 kB. Beside it, the
same without tools: three usual queries for Triton, of which the script takes the model that stands out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from mcp import Client
from planted.fault import Named, score
from planted.kept import FOLDER, Kept, known, look, replay
from planted.world import prometheus
from results import publish, table

from support.agents import Answered, Recorded
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.extensions.mcp.ask import Fleet
from tritonobs.extensions.mcp.server import make_server
from tritonobs.extensions.triage.saved import save_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CALLS, MOST_BYTES = 3, 6 * 1024
USUAL = (
    "sum by (model) (rate(nv_inference_request_failure[5m]))",
    (
        "sum by (model) (rate(nv_inference_request_duration_us[5m]))"
        " / sum by (model) (rate(nv_inference_count[5m]))"
    ),
    "sum by (model) (nv_inference_pending_request_count)",
)


def main() -> None:
    """Ask about every fault, both ways."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = list(_rows(Path(name)))
    publish("agents", _text(rows), rows, as_json=chosen.json, write=chosen.write)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    replay(FOLDER, folder / "data")
    with prometheus(folder) as url:
        for fault in known(FOLDER):
            saved = folder / f"{fault.name}.json"
            save_snapshot(look(url, fault), saved)
            yield {"name": fault.name, **asyncio.run(_asked(saved, fault)), **_plain(url, fault)}


async def _asked(saved: Path, fault: Kept) -> dict[str, Any]:
    """The script with the tools."""
    calls, held = [("triage", {})], 0
    place = cause = advice = False
    began = first = time.monotonic()
    done = 0
    async with Client(make_server(Fleet(None), commands=Recorded(saved))) as agent:
        await agent.list_tools()
        began = time.monotonic()
        while calls and done < MOST_CALLS and not (cause and advice):
            tool, arguments = calls.pop(0)
            found = Answered(await agent.call_tool(tool, arguments))
            done, held = done + 1, held + found.size
            if found.failed:
                continue
            if tool == "triage":
                first = time.monotonic()
                right = score(fault.truth, _named(found.answer["data"]), fault.began)
                place, advice = right["place"], right["advice"]
                cause = right["headline"] and place
                calls += [(one["tool"], one.get("arguments", {})) for one in found.answer.get("next", [])]
            else:
                advice = advice or bool(re.search(fault.truth.advice, found.text, re.IGNORECASE))
    return {
        "calls": done,
        "bytes": held,
        "place": place,
        "cause": cause,
        "advice": advice,
        "arrived": cause and advice and held <= MOST_BYTES,
        "first_seconds": round(first - began, 2),
    }


def _named(verdict: dict[str, Any]) -> Named | None:
    causes = verdict.get("causes", [])
    if not causes:
        return None
    one = causes[0]
    return Named(
        check=one["check"],
        place=tuple(one.get("place", ())),
        # The marks are not of the sentence.
        sentence=re.sub("[«»]", "", one["sentence"]),
        since=one.get("since"),
        steps=tuple(re.sub("[«»]", "", step) for step in one.get("next_steps", [])),
    )


def _plain(url: str, fault: Kept) -> dict[str, Any]:
    """The script without tools: which model it would name, and how much it read for that."""
    client, held, chosen = PrometheusClient(url, timeout_seconds=30.0), 0, ""
    for query in USUAL:
        found = [
            one
            for one in client.query(query, at=fault.incident.end)
            if math.isfinite(one.value) and one.value > 0
        ]
        held += len(json.dumps([[dict(one.labels), [one.time, str(one.value)]] for one in found]).encode())
        if found and not chosen:
            chosen = max(found, key=lambda one: one.value).labels.get("model", "")
    client.close()
    return {
        "plain_place": any(place[:1] == (chosen,) for place in fault.truth.places),
        "plain_bytes": held,
    }


def _text(rows: list[dict[str, Any]]) -> str:
    count = len(rows)
    header = (
        "",
        "right place",
        "right cause",
        "right advice",
        "all, ≤ 3 calls and ≤ 6 kB",
        "median bytes",
    )
    cells = [
        (
            "tools of tritonobs mcp",
            f"{sum(row['place'] for row in rows)} of {count}",
            f"{sum(row['cause'] for row in rows)} of {count}",
            f"{sum(row['advice'] for row in rows)} of {count}",
            f"{sum(row['arrived'] for row in rows)} of {count}",
            f"{median(row['bytes'] for row in rows):.0f}",
        ),
        (
            "three usual queries",
            f"{sum(row['plain_place'] for row in rows)} of {count}",
            f"0 of {count}",
            f"0 of {count}",
            f"0 of {count}",
            f"{median(row['plain_bytes'] for row in rows):.0f}",
        ),
    ]
    lost = [row["name"] for row in rows if not row["arrived"]]
    first = median(row["first_seconds"] for row in rows)
    return "\n".join(
        (
            table(header, cells),
            "",
            "A query has numbers and no advice, so the last columns of the second row are 0 by nature.",
            f"Did not arrive: {', '.join(lost) or 'none'}.",
            f"Median time to the first answer, of saved readings: {first:.1f} s.",
        )
    )


if __name__ == "__main__":
    main()
