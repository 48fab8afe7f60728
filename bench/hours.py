"""What only a long run shows.

`traces` counts what a real Triton did and what its traces say; with `--idle 5` the receiver closes
connections as uvicorn does when it is told nothing, and loses batches. `stack` is the practice stack with
every part, `serve` a `tritonobs serve` with 50 groups of alerts an hour, `fleet` two hundred simulated
servers on one Prometheus: each compares what was done from outside with what was counted, told and charged,
and what is held at minute 10 with what is held at the end. Exit status 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import hours_fleet
import hours_stack
import serve_soak
from hours_seen import failed_exports
from results import publish, table

from support.traced_rig import traced_rig
from tritonobs import names

MODELS = ("quick", "slow", "ensemble")
_TRITON_SECONDS = 5
"""How often Triton sends a batch when it is told nothing."""
_SOAKS = {"stack": hours_stack.run, "serve": serve_soak.hours, "fleet": hours_fleet.run}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("traces", *_SOAKS))
    parser.add_argument("--minutes", type=float, default=100)
    parser.add_argument("--qps", type=float, default=5, help="requests a second to each model, one by one")
    parser.add_argument("--idle", type=float, help="seconds after which the receiver closes what is idle")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    if options.what in _SOAKS:
        text, values, kept = _SOAKS[options.what](options.minutes)
        verdict = "all promises were kept" if kept else "A PROMISE WAS BROKEN"
        publish(
            f"hours-{options.what}", f"{verdict}: {text}", values, as_json=options.json, write=options.write
        )
        sys.stdout.flush()
        os._exit(0 if kept else 1)  # Threads that wait for a server that is gone are waited for no longer.
    _traces(options)


def _traces(options: argparse.Namespace) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        traced_rig(Path(folder), every_ms=_TRITON_SECONDS * 1000, idle=options.idle) as rig,
    ):
        sent, end = 0, time.monotonic() + 60 * options.minutes
        while time.monotonic() < end:
            began = time.monotonic()
            for model in MODELS:
                rig.ask(model, 0.001)
            sent += 1
            time.sleep(max(0.0, began + 1 / options.qps - time.monotonic()))
        time.sleep(3 * _TRITON_SECONDS)
        counted = {model: sum(one.successes for one in rig.api.stats(model)) for model in MODELS}
        traced = {model: rig.count(names.TRACE_REQUESTS, model=model) for model in MODELS}
        dropped = rig.count(names.TRACE_DROPPED)
        failed = failed_exports(Path(folder) / "server" / "logs" / "triton.log")
    rows = [
        [
            model,
            f"{counted[model]:,.0f}",
            f"{traced[model]:,.0f}",
            f"{1 - traced[model] / counted[model]:.2%}",
        ]
        for model in MODELS
    ]
    closes = f"closed after {options.idle:g} s" if options.idle else "kept"
    text = (
        f"{options.minutes:g} minutes, {sent:,} requests to each model, every request traced, a batch every "
        f"{_TRITON_SECONDS} s, idle connections {closes}. Triton's log has {failed} failed exports; the "
        f"receiver says that it dropped {dropped:g}.\n\n"
        + table(["model", "counted by Triton", "traced", "lost"], rows)
    )
    name = "hours-traces" + ("-closed" if options.idle else "")
    publish(name, text, {"counted": counted, "traced": traced}, as_json=options.json, write=options.write)


if __name__ == "__main__":
    main()
