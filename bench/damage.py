"""How many damaged JPEGs are refused, by what was done to them and by how they were written.

Each damage lies at a random place in the middle half of a 1920x1080 image. JPEG has no checksum: what keeps
every rule of the format is a JPEG of another picture, and no decoder can tell. bench/entropy.py looks at the
rules that libjpeg leaves out, too, but not at progressive data.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np
from entropy import keeps_the_rules
from results import publish, table

from tritonobs.extensions.lab.load.plates import draw_plate

MODELS = Path(__file__).resolve().parent.parent / "models"
sys.path.insert(0, str(MODELS / "preprocess" / "1"))
WRITTEN = {
    "baseline": [],
    "restart markers": [cv2.IMWRITE_JPEG_RST_INTERVAL, 8],
    "progressive": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1],
}
VISIBLE = 2.0
"""Mean difference of all pixels, in levels of 255."""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tries", type=int, default=60, help="of each kind")
    parser.add_argument("--quick", action="store_true", help="five tries: does it work at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    tries = 5 if options.quick else options.tries
    pixels = draw_plate(np.random.default_rng(5), width=1920, height=1080).pixels
    rows, values = [], []
    for written, how in WRITTEN.items():
        body = cv2.imencode(".jpg", pixels, how)[1].tobytes()
        for damage in (1, 16, 64, 256, 1024, 4096, "lost 512", "zeros 512", "cut"):
            refused, broken, visible = _outcomes(body, damage, tries, known=written != "progressive")
            name = f"{damage} random bytes" if isinstance(damage, int) else str(damage)
            same = tries - refused - visible
            rows.append([written, name, *(f"{count}" for count in (refused, same, visible, broken))])
            values.append(
                {"written": written, "damage": name, "refused": refused, "visible": visible, "broken": broken}
            )
    header = [
        "JPEG",
        "damage",
        "refused",
        "decoded, looks the same",
        "decoded, looks different",
        "could be found",
    ]
    text = (
        f"{tries} of each; different: pixels differ by more than {VISIBLE:g} levels on average. What could "
        "be found is decoded, although it breaks a rule that libjpeg does not look at; the rest is valid.\n\n"
    )
    publish("damage", text + table(header, rows), values, as_json=options.json, write=options.write)


def _outcomes(body: bytes, damage: int | str, tries: int, *, known: bool) -> tuple[int, str, int]:
    """How many were refused; of the others, how many break a rule, and how many look different."""
    from decode import decode  # noqa: PLC0415 (the model's folder is put on the path above)
    from refusal import ImageRefused  # noqa: PLC0415 (the model's folder is on the path from here on)
    from settings import Settings  # noqa: PLC0415 (the model's folder is on the path from here on)

    rng = np.random.default_rng(60)
    healthy = decode(body, Settings()).pixels.astype(np.int16)
    refused = visible = broken = 0
    for at in rng.integers(len(body) // 4, 3 * len(body) // 4, tries):
        damaged = _damaged(rng, body, int(at), damage)
        try:
            pixels = decode(damaged, Settings()).pixels
        except ImageRefused:
            refused += 1
        else:
            visible += bool(np.abs(pixels - healthy).mean() > VISIBLE)
            broken += known and not keeps_the_rules(damaged)
    return refused, f"{broken}" if known else "unknown", visible


def _damaged(rng: np.random.Generator, body: bytes, at: int, damage: int | str) -> bytes:
    if isinstance(damage, int):
        return body[:at] + rng.bytes(damage) + body[at + damage :]
    if damage == "lost 512":
        return body[:at] + body[at + 512 :]
    return body[:at] + bytes(512) + body[at + 512 :] if damage == "zeros 512" else body[:at]


if __name__ == "__main__":
    main()
