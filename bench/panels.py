"""How long the queries of the boards take on a stack like the demo's, and what the boards then look like.

Starts the stack of the example fleet, sends varied load to it for some minutes (more than the limit, larger
images, broken ones, a reload, a new limit), then asks every query of every panel as Grafana does for an hour.

python bench/panels.py [--minutes 16] [--rounds 5] [--pictures docs/pictures] [--json] [--write]
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from results import publish, table

from support.exporters import Exporters
from support.language_load import prompts
from tritonobs import assets, programs
from tritonobs.clients.prometheus import PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.extensions.lab.load.images import parse_mix
from tritonobs.extensions.lab.load.run import LoadPlan, run_load
from tritonobs.extensions.lab.load.schedule import Segment
from tritonobs.extensions.lab.stack import local
from tritonobs.extensions.lab.stack.processes import Folders
from tritonobs.extensions.picture.answers import Drawing, ask_target, fill, intervals, read_drawing, step_of
from tritonobs.extensions.picture.board import knobs_of
from tritonobs.extensions.picture.page import sheet
from tritonobs.limits import change
from tritonobs.render.grafana import load_boards
from tritonobs.render.rules import evaluate_mixin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EXPOSITIONS = Path(__file__).parents[1] / "tests" / "dashboards" / "expositions"
LANGUAGE = Path(__file__).parents[1] / "examples" / "language"
_PICTURED_SECONDS = 900.0
# Shares of the time, requests a second, images.
ACTS = (
    (0.20, 4.0, "1280x720=6,640x480=4"),
    (0.14, 6.0, "1280x720=6,640x480=3,png:640x640=1"),
    (0.14, 3.0, "4000x3000=3,1280x720=3"),
    (0.18, 14.0, "1280x720=8,640x480=4,corrupt=1,unsupported=1"),
    (0.16, 5.0, "1280x720=8,640x480=4,corrupt=0.3"),
    (0.18, 7.0, "1280x720=8,640x480=4,corrupt=0.2"),
)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=16)
    parser.add_argument("--rounds", type=int, default=5, help="how often each query is asked")
    parser.add_argument("--pictures", type=Path, help="draw each board into this folder, too")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        # A copy, because a reload in earnest takes a changed file.
        models = Path(shutil.copytree(assets.folder("models"), root / "models"))
        stack = local.start(None, Folders(root=root / "state"), print, models=models, move_ports=True)
        try:
            client = PrometheusClient(stack.address("prometheus"))
            with (
                cards(root / "cards", stack.address("prometheus")) as of_cards,
                speaking(root / "language") as of_language,
            ):
                drive(stack, models, seconds)
                if options.pictures:
                    asked = {"accelerators": of_cards, "language": of_language}
                    draw(client, asked, options.pictures, min(seconds, _PICTURED_SECONDS))
                spent = measure(client, options.rounds)
        finally:
            local.stop(stack)
    rows = [
        (name, str(len(times)), *(milliseconds(at(times, share)) for share in (0.5, 0.95, 1)))
        for name, times in (*spent.items(), ("all", sorted(chain.from_iterable(spent.values()))))
    ]
    text = (
        f"Every query of every panel, {options.rounds} times, one after the other, over the last hour,\n"
        f"after {options.minutes:g} minutes of load at 3 to 14 requests/s; with HTTP and reading the answer."
        "\n\n" + table(("board", "queries asked", "p50", "p95", "longest"), rows)
    )
    publish("panels", text, spent, as_json=options.json, write=options.write)


def drive(stack: local.Running, models: Path, seconds: float) -> None:
    """The acts, and on the way a reload and a new limit."""
    url = stack.plan.replicas[0].http_url
    stop = threading.Event()
    steady = LoadPlan(segments=(Segment(qps=1.5, seconds=seconds),), urls=(url,), model="inspect_ensemble")
    aside = threading.Thread(target=run_load, args=(steady,), kwargs={"stop": stop})
    aside.start()
    try:
        for number, (share, qps, mix) in enumerate(ACTS):
            print(f"{qps:g} requests/s of {mix} for {share * seconds:.0f} s", flush=True)
            segments = (Segment(qps=qps, seconds=share * seconds),)
            images = parse_mix(mix)
            run_load(LoadPlan(segments=segments, urls=(url,), mix=images, arrivals="poisson", seed=number))
            if number == 3:
                raise_limit(stack.fleet_file)
            if number == 4:
                (models / "nms" / "1" / "model.py").touch()
                TritonClient(url).load("nms")
    finally:
        stop.set()
        aside.join()


def raise_limit(fleet_file: Path) -> None:
    """What is done after an overflow; a mark on the boards."""
    wanted = change.Change(per_second=Decimal(12), model="inspect")
    change.set_limit(fleet_file, wanted, who="bench", reason="agreed after the overflow")


def measure(client: PrometheusClient, rounds: int) -> dict[str, list[float]]:
    """Seconds of every query, by board, shortest first."""
    now = time.time()
    boards = load_boards(knobs_of(client, start=now - 60, end=now))
    spent: dict[str, list[float]] = {}
    for name, board in boards.items():
        spent[name] = []
        for _ in range(rounds):
            spent[name] += asked(
                client, read_drawing(client, board, {}, start=time.time() - 3600, end=time.time())
            )
        spent[name].sort()
    return spent


def asked(client: PrometheusClient, drawing: Drawing) -> list[float]:
    """Seconds of each query of a board, asked alone."""
    times, found = drawing.times, []
    for panel in drawing.board.panels:
        step = step_of(panel, times)
        known = {**drawing.words, **intervals(step, times.scrape_seconds, times.seconds)}
        for target in panel.targets:
            started = time.perf_counter()
            ask_target(client, target, fill(target.expr, known), times, step)
            found.append(time.perf_counter() - started)
    return found


@contextmanager
def cards(folder: Path, beside: str) -> Iterator[PrometheusClient]:
    """A Prometheus that watches the pages of the card vendors' exporters, with values that move."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in EXPOSITIONS.glob("*.prom")}
    groups = evaluate_mixin({"stageInterval": "1s", "evaluationInterval": "1s"})["records"]["groups"]
    wanted = [group for group in groups if group["name"] == "tritonobs.accelerators"]
    program = programs.find("prometheus")
    with (
        Exporters(pages, waves=0.4) as exporters,
        exporters.prometheus(program, wanted, folder, beside=beside) as running,
    ):
        yield PrometheusClient(running.url)


@contextmanager
def speaking(folder: Path) -> Iterator[PrometheusClient]:
    """The Prometheus of a stack with a model like a language model, which ever more callers ask."""
    stack = local.start(
        LANGUAGE / "fleet.yaml",
        Folders(root=folder),
        print,
        models=LANGUAGE / "models",
        robot_double=True,
        move_ports=True,
    )
    try:
        url = stack.plan.replicas[0].http_url
        with prompts(url, at_once=5, words=40), prompts(url, at_once=3, words=80, answer=60, every=20.0):
            yield PrometheusClient(stack.address("prometheus"))
    finally:
        local.stop(stack)


def draw(
    client: PrometheusClient, others: Mapping[str, PrometheusClient], folder: Path, seconds: float
) -> None:
    """One picture a board, of the last `seconds`; `others` are asked about the boards named."""
    end = time.time()
    boards = load_boards(knobs_of(client, start=end - 60, end=end))
    for name, board in boards.items():
        asked = others.get(name, client)
        choice = {"model": ["inspect"]} if name in {"model", "pipeline"} else {}
        drawing = read_drawing(asked, board, choice, start=end - seconds, end=end)
        (folder / f"board-{name}.png").write_bytes(sheet(drawing))
        print(f"{name}: without data: {', '.join(drawing.silent) or 'nothing'}", flush=True)


def at(times: Sequence[float], share: float) -> float:
    """The time that this share of the queries needed at most."""
    return times[min(len(times) - 1, math.ceil(share * len(times)) - 1)]


def milliseconds(seconds: float) -> str:
    """For the table."""
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    main()
