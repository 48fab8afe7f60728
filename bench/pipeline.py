"""Images per second and core: preprocess, nms and the whole chain, against the plain OpenCV way.

Runs in pairs, ours and the plain way in turn on the same image, on one core; the ratio is the median over the
pairs. The plain way is in plain.py. The network itself is the same in both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from plain import LABELS, plain_nms, plain_preprocess
from results import publish, table

from tritonobs.extensions.lab.load.images import jpeg
from tritonobs.extensions.lab.load.plates import draw_plate

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS = Path(__file__).resolve().parent.parent / "models"
sys.path[:0] = [str(MODELS / model / "1") for model in ("preprocess", "detector", "nms")]
SIZES = ((640, 640), (1920, 1080), (4000, 3000))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--quick", action="store_true", help="few pairs: does it work at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows, values = [], []
    for width, height in SIZES:
        for step, ours, plain in _steps(width, height):
            mine, theirs = _paired(ours, plain, 5 if options.quick else options.pairs)
            ratio = statistics.median(b / a for a, b in zip(mine, theirs, strict=True))
            rows.append([f"{width}x{height}", step, *_figures(mine), *_figures(theirs), f"{ratio:.2f}"])
            values.append(
                {"size": [width, height], "step": step, "ours": mine, "plain": theirs, "ratio": ratio}
            )
    header = ["JPEG", "step", "images/s", "p50", "p99", "plain images/s", "p50", "p99", "ratio"]
    publish("pipeline", _TEXT + table(header, rows), values, as_json=options.json, write=options.write)


_TEXT = "One core, one image at a time; the ratio is plain over ours, median of pairs.\n\n"


def _steps(width: int, height: int) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
    from boxes import Settings, encode, keep_confident, suppress, to_original  # noqa: PLC0415 (the models' folders are put on the path above)
    from decode import decode  # noqa: PLC0415 (the model's folder is on the path from here on)
    from letterbox import letterbox, normalise  # noqa: PLC0415 (the model's folder is on the path from here on)
    from network import Network  # noqa: PLC0415 (the model's folder is on the path from here on)
    from settings import Settings as Decoding  # noqa: PLC0415 (the model's folder is on the path from here on)

    body = jpeg(draw_plate(np.random.default_rng(5), width=width, height=height).pixels)
    network = Network(MODELS / "detector" / "1" / "model.onnx", threads=1)
    settings = Settings(labels=LABELS, confidence=0.25, iou=0.45, max_candidates=1000, max_detections=300)
    tensor = np.empty((1, 3, 640, 640), np.float32)

    def prepare() -> np.ndarray:
        pixels, geometry = letterbox(decode(body, Decoding()))
        normalise(pixels, tensor[0])
        return geometry

    def finish(found: np.ndarray, geometry: np.ndarray) -> bytes:
        kept = suppress(keep_confident(found, settings), settings)
        return encode(to_original(kept, geometry), geometry, settings)

    geometry = prepare()
    found = network.infer([tensor])[0][0]
    plain = plain_preprocess(body)

    def plain_both() -> object:
        return plain_nms(found, *plain_preprocess(body)[1:])

    def plain_chain() -> object:
        fitted, *placed = plain_preprocess(body)
        return plain_nms(network.infer([fitted])[0][0], *placed)

    def chain() -> bytes:
        placed = prepare()
        return finish(network.infer([tensor])[0][0], placed)

    return [
        ("preprocess", prepare, lambda: plain_preprocess(body)),
        ("nms", lambda: finish(found, geometry), lambda: plain_nms(found, *plain[1:])),
        ("preprocess + nms", lambda: finish(found, prepare()), plain_both),
        ("with the network", chain, plain_chain),
    ]


def _paired(
    ours: Callable[[], object], plain: Callable[[], object], pairs: int
) -> tuple[list[float], list[float]]:
    """Seconds of each call, the two in turn."""
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(pairs + 2):
        for way, seconds in zip((ours, plain), taken, strict=True):
            began = time.perf_counter()
            way()
            if turn >= 2:
                seconds.append(time.perf_counter() - began)
    return taken


def _figures(seconds: list[float]) -> list[str]:
    ordered = sorted(seconds)
    middle, late = statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]
    return [f"{1 / statistics.mean(ordered):.0f}", f"{middle * 1e3:.2f} ms", f"{late * 1e3:.2f} ms"]


if __name__ == "__main__":
    main()
