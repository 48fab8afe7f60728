"""How far the detector's boxes lie from what was drawn, by the size of the image.

Plates that training never saw, as JPEG of quality 92, through preprocess, detector and nms. The error of a
box is that of its worst side, in pixels of the original, and in pixels of the network's input. 6000x4000 is
beyond the default limit on size.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from results import publish, table

from tritonobs.extensions.lab.load.images import jpeg
from tritonobs.extensions.lab.load.plates import CLASSES, draw_plate

if TYPE_CHECKING:
    from network import Network

MODELS = Path(__file__).resolve().parent.parent / "models"
sys.path[:0] = [str(MODELS / model / "1") for model in ("preprocess", "detector", "nms")]
SIZES = ((160, 120), (640, 480), (1280, 960), (1920, 1080), (2560, 1920), (4000, 3000), (6000, 4000))
UNSEEN = 20_261_122
SIDE, NEAR_PX = 640, 2.0


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plates", type=int, default=25, help="of each size")
    parser.add_argument(
        "--quick", action="store_true", help="two plates of small sizes: does it work at all?"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    sizes, plates = (SIZES[:2], 2) if options.quick else (SIZES, options.plates)
    rows, values = [], []
    for width, height in sizes:
        errors = np.concatenate([_errors(number, width, height) for number in range(plates)])
        middle, late = np.quantile(errors, (0.5, 0.95))
        near = float(np.mean(errors <= NEAR_PX))
        rows.append(
            [
                f"{width}x{height}",
                str(len(errors)),
                f"{middle:.2f} px",
                f"{late:.2f} px",
                f"{late * SIDE / max(width, height):.2f} px",
                f"{near:.1%}",
            ]
        )
        values.append(
            {"size": [width, height], "boxes": len(errors), "p50": middle, "p95": late, "near": near}
        )
        print(*rows[-1], file=sys.stderr)
    header = ["JPEG", "boxes", "error p50", "p95", "p95 in the network", f"within {NEAR_PX:g} px"]
    text = f"{plates} plates of each size; a box that is not found counts as infinitely far.\n\n"
    publish("box_errors", text + table(header, rows), values, as_json=options.json, write=options.write)


def _errors(number: int, width: int, height: int) -> np.ndarray:
    """Pixels between each drawn box and the nearest of its class."""
    plate = draw_plate(np.random.default_rng([UNSEEN, number]), width=width, height=height)
    boxes, classes = _find(jpeg(plate.pixels))
    errors = []
    for kind, box in zip(plate.classes, plate.boxes, strict=True):
        same = boxes[classes == kind]
        errors.append(np.abs(same - box).max(axis=1).min() if len(same) else np.inf)
    return np.array(errors)


def _find(body: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Boxes and classes, as `inspect` answers them."""
    from boxes import Settings, keep_confident, suppress, to_original  # noqa: PLC0415 (the models' folders are put on the path above)
    from decode import decode  # noqa: PLC0415 (the model's folder is on the path from here on)
    from letterbox import letterbox, normalise  # noqa: PLC0415 (the model's folder is on the path from here on)
    from settings import Settings as Decoding  # noqa: PLC0415 (the model's folder is on the path from here on)

    settings = Settings(labels=CLASSES, confidence=0.25, iou=0.45, max_candidates=1000, max_detections=300)
    pixels, geometry = letterbox(decode(body, Decoding(max_side=10_000)))
    tensor = np.empty((1, 3, 640, 640), np.float32)
    normalise(pixels, tensor[0])
    rows = _network().infer([tensor])[0][0]
    found = to_original(suppress(keep_confident(rows, settings), settings), geometry)
    return found.boxes, found.classes


@functools.cache
def _network() -> Network:
    from network import Network  # noqa: PLC0415 (the model's folder is on the path from here on)

    return Network(MODELS / "detector" / "1" / "model.onnx", threads=1)


if __name__ == "__main__":
    main()
