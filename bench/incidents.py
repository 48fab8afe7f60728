"""How many alerts start and how many messages people get in each of many incidents, and after it.

Every incident is lived through in a simulated fleet with the rules of production at their own intervals. The
built configuration of Alertmanager is applied by a model of it, which tests/render/test_alertmanager_model.py
compares with a real one. The incidents are in tests/support/incidents.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from results import publish, table

from support.fleet_sim.engine import Engine
from support.incidents.every import INCIDENTS
from support.incidents.incident import (
    MEDIAN_MESSAGES,
    MEDIAN_STARTS,
    MOST_MESSAGES,
    MOST_STARTS,
    lived_through,
)
from tritonobs import programs

if TYPE_CHECKING:
    from support.alertmanager_sim.alertmanager import Life
    from support.incidents.incident import Result


def main() -> int:
    """Run it; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="incidents whose names have this in them"
    )
    parser.add_argument("--show", action="store_true", help="print every alert and every message")
    parser.add_argument("--write", action="store_true", help="replace the section of RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    chosen = [one for one in INCIDENTS if not asked.only or any(name in one.name for name in asked.only)]
    results = []
    with tempfile.TemporaryDirectory() as folder, Engine(programs.find("prometheus"), Path(folder)) as engine:
        for incident in chosen:
            began = time.monotonic()
            result = lived_through(engine, incident)
            results.append(result)
            print(f"{time.monotonic() - began:5.1f} s  {_line(result)}", file=sys.stderr, flush=True)
            if asked.show:
                print("\n".join(_shown(result)), file=sys.stderr, flush=True)
    missed = _missed(results)
    publish("Incidents", _text(results, missed), _values(results), as_json=asked.json, write=asked.write)
    return 1 if missed else 0


def _missed(results: list[Result]) -> list[str]:
    starts, messages = (median(counts) for counts in _counts(results))
    wide = [
        said
        for said, is_missed in (
            (f"median of alert starts {starts:g}, allowed {MEDIAN_STARTS}", starts > MEDIAN_STARTS),
            (f"median of messages {messages:g}, allowed {MEDIAN_MESSAGES}", messages > MEDIAN_MESSAGES),
        )
        if is_missed
    ]
    return [*wide, *(f"{one.incident.name}: {', '.join(one.wrong)}" for one in results if one.wrong)]


def _counts(results: list[Result]) -> tuple[list[int], list[int]]:
    return [len(one.starts) for one in results], [len(one.messages) for one in results]


def _text(results: list[Result], missed: list[str]) -> str:
    starts, messages = _counts(results)
    said = [len(one.conversation) for one in results]
    header = [
        "incident",
        "what happens",
        "alert starts",
        "messages",
        "with incidents",
        "first after",
        "new after the end",
        "",
    ]
    rows = [
        [
            one.incident.name,
            one.incident.says,
            str(len(one.starts)),
            str(len(one.messages)),
            str(len(one.conversation)),
            "." if one.first is None else f"{one.first:.0f} s",
            ", ".join(sorted({life.labels["alertname"] for _, life in one.late})) or ".",
            "; ".join(one.wrong),
        ]
        for one in results
    ]
    return (
        f"{len(results)} incidents: alert starts median {median(starts):g} (allowed {MEDIAN_STARTS}), most "
        f"{max(starts)} ({MOST_STARTS}); messages median {median(messages):g} ({MEDIAN_MESSAGES}), most "
        f"{max(messages)} ({MOST_MESSAGES}), "
        f"with incidents median {median(said):g}, most {max(said)};\n"
        f"{sum(bool(one.late) for one in results)} with news after their end (0), "
        f"{sum(bool(one.incident.needs) and one.first is None for one in results)} that nobody heard of (0). "
        "Warnings and pages count, info does not. Messages "
        f"are counted with reminders of what goes on; the allowed {MOST_MESSAGES} are without. "
        "With incidents they are joined as `serve` does, without a verdict.\n"
        f"Missed: {'; '.join(missed) or 'nothing'}.\n\n" + table(header, rows)
    )


def _values(results: list[Result]) -> dict[str, Any]:
    return {
        one.incident.name: {
            "starts": [life.labels["alertname"] for life in one.starts],
            "infos": one.infos,
            "messages": [message.at - one.incident.begins for message in one.messages],
            "with_incidents": [message.at - one.incident.begins for message in one.conversation],
            "first_seconds": one.first,
            "late": [life.labels["alertname"] for _, life in one.late],
            "wrong": list(one.wrong),
        }
        for one in results
    }


def _line(result: Result) -> str:
    first = "nothing" if result.first is None else f"first after {result.first:.0f} s"
    return (
        f"{result.incident.name}: {len(result.starts)} starts, {len(result.messages)} messages, "
        f"{len(result.conversation)} with incidents, {first}"
        f"{'; ' + ', '.join(result.wrong) if result.wrong else ''}"
    )


def _shown(result: Result) -> list[str]:
    zero = result.incident.begins

    def name(life: Life) -> str:
        shown = ("model", "version", "slo", "replica", "reason", "stage")
        return " ".join(
            [life.labels["alertname"], *(life.labels[key] for key in shown if key in life.labels)]
        )

    ends = "never" if result.incident.ends is None else f"{result.incident.ends - zero:.0f}"
    lines = [f"    incident 0 to {ends}"]
    for life in result.starts:
        until = "…" if life.until is None else f"{life.until - zero:.0f}"
        lines.append(
            f"    alert {life.since - zero:7.0f} to {until:>7} {life.labels['severity']:8} {name(life)}"
        )
    for message in result.messages:
        parts = [
            f"{word} {', '.join(name(life) for life in lives)}"
            for word, lives in (("BEGUN", message.begun), ("on", message.reminded), ("over", message.over))
            if lives
        ]
        lines.append(f"    message {message.at - zero:7.0f} {'; '.join(parts)}")
    for one in result.conversation:
        alerts = ", ".join(f"{alert.labels['alertname']} {alert.status}" for alert in one.alerts)
        lines.append(f"    with incidents {one.at - zero:7.0f} {alerts}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
