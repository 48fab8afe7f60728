"""What incidents cost `serve` at 1,000 models of two versions: joining, sifting, a look for the cause.

python bench/incidents_cost.py [--json] [--write]

A storm of alerts comes at once, and once more; then 200 digests of a few alerts each. A look is a thread that
sleeps: what is measured is how often it is begun, and how long a message waits for it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from results import publish, table

from support.incidents.serving import BEGAN, Judged, alert, serving
from tritonobs.extensions.incidents.chats import Manner, Talk, heard, sift
from tritonobs.extensions.incidents.incident import Fleet
from tritonobs.extensions.incidents.join import State, join
from tritonobs.extensions.incidents.part import Incidents
from tritonobs.tasks import Supervisor

if TYPE_CHECKING:
    from tritonobs.delivery.payload import Alert

MODELS, VERSIONS = 1000, 2
STORMS = (100, 1000, 3000, 10_000)
LOOK_SECONDS = 20.0
"""Of a Prometheus that hangs."""
MESSAGES, APART_SECONDS = 60, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """So many alerts at once: seconds of the first digest, of the same again, of a small one after it."""

    alerts: int
    first: float
    again: float
    small: float
    megabytes: float
    incidents: int


def main() -> None:
    """Measure and publish."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true")
    wanted = options.parse_args()
    storms = [storm(count) for count in STORMS]
    looks, waits = hanging()
    rows = [
        [
            f"{one.alerts:,}",
            f"{one.first:.2f} s",
            f"{one.again:.2f} s",
            f"{one.small:.3f} s",
            f"{one.megabytes:.0f} MB",
            str(one.incidents),
        ]
        for one in storms
    ]
    header = ("alerts at once", "first digest", "the same again", "three more", "memory", "incidents")
    text = "\n".join(
        (
            f"{MODELS:,} models of {VERSIONS} versions; joined and sifted in a thread beside the delivery.",
            "",
            table(header, rows),
            "",
            f"While each look hangs for {LOOK_SECONDS:g} s: {looks} looks for {MESSAGES} messages, which",
            f"waited for them {median(waits):.2f} s at the median, {max(waits):.2f} s at most.",
        )
    )
    values: dict[str, Any] = {
        "storms": [{name: getattr(one, name) for name in Storm.__slots__} for one in storms],
        "looks": looks,
        "waits": waits,
    }
    publish("incidents cost", text, values, as_json=wanted.json, write=wanted.write)


def storm(count: int) -> Storm:
    """Join and sift so many alerts."""
    fleet = Fleet(edges={f"model-{number}": {} for number in range(MODELS)})
    manner = Manner.of(fleet, 300.0)
    alerts = [_alert(number) for number in range(count)]
    state, talk, seconds = State(), Talk(), []
    tracemalloc.start()
    for turn, those in enumerate((alerts, alerts, alerts[:3])):
        now = BEGAN + 10 * turn
        began = time.perf_counter()
        step = join(state, now, those, fleet)
        talk, sifted = sift(talk, those, step.incidents, now, manner)
        talk = heard(talk, [one.state for one in those if one.state not in sifted.known], now)
        seconds.append(time.perf_counter() - began)
        state = step.state
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return Storm(
        alerts=count,
        first=seconds[0],
        again=seconds[1],
        small=seconds[2],
        megabytes=megabytes,
        incidents=len(state.open),
    )


def _alert(number: int) -> Alert:
    model, version = f"model-{number % MODELS}", str(1 + number // MODELS % VERSIONS)
    made = alert(f"TritonFault{number // MODELS // VERSIONS}", model)
    return made.model_copy(update={"labels": {**made.labels, "version": version}})


def hanging() -> tuple[int, list[float]]:
    """Looks that were begun, and what messages waited, while every look hangs."""
    judged, waits = Judged(seconds=LOOK_SECONDS), []

    async def run(folder: Path) -> None:
        with serving(judged, folder) as plan:
            supervisor = Supervisor()
            one = Incidents(plan, supervisor)
            (robot, *_) = plan.notify.robots
            for number in range(MESSAGES):
                began = time.perf_counter()
                await one.above([alert(model=f"model-{number % 5}")], robot)
                waits.append(time.perf_counter() - began)
                await asyncio.sleep(APART_SECONDS)
            supervisor.close()
            one.close()

    asyncio.run(run(Path(tempfile.gettempdir())))
    return judged.asked, waits


if __name__ == "__main__":
    main()
