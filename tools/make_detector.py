"""Trains the part detector on drawn plates and writes it as ONNX.

    pip install -e .[stack] jax onnx optax
    python tools/make_detector.py

The same seed on the same machine gives the same file.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models" / "preprocess" / "1"))

from detector.data import draw_examples  # noqa: E402 (needs the path above)
from detector.export import build_model  # noqa: E402 (its folder is on the path from here on)
from detector.training import train_heads, train_side_offset  # noqa: E402 (its folder is on the path from here on)

# Normal errors, in network pixels, of the boxes each refining pass gets: the usual case and the bad one.
_ERRORS_PX = ((1.2, 3.5), (0.4, 1.2), (0.15, 0.45))


def main() -> None:
    """Draw, train, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of the plates and the weights (1)")
    parser.add_argument("--examples", type=int, default=2400, help="plates to train on (2400)")
    parser.add_argument("--steps", type=int, default=3000, help="of training the heads, 8 plates each (3000)")
    parser.add_argument(
        "--refine-steps", type=int, default=2000, help="of training each refining pass (2000)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "models" / "detector" / "1" / "model.onnx")
    options = parser.parse_args()

    started = time.monotonic()
    examples = draw_examples(options.seed, options.examples, side=320)
    print(f"drawn {options.examples} plates, {time.monotonic() - started:.0f} s", flush=True)
    weights = train_heads(examples, options.seed, steps=options.steps)
    for stage, errors_px in enumerate(_ERRORS_PX):
        weights |= train_side_offset(
            examples, options.seed, stage=stage, steps=options.refine_steps, errors_px=errors_px
        )
    data = build_model(weights).SerializeToString()
    options.out.write_bytes(data)
    seconds = time.monotonic() - started
    print(f"wrote {options.out} ({len(data) / 1e6:.2f} MB, {len(weights)} arrays) in {seconds:.0f} s")


if __name__ == "__main__":
    main()
