"""The detector's networks, written once: jax trains them and onnx carries them, both through `Ops`.

`heads` finds boxes; `side_offset` looks along each side of a box found and says where the side really is.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

STRIDES: Final = (8, 16, 32)
ANCHORS: Final = ((22.0, 32.0, 44.0), (60.0, 80.0, 108.0), (145.0, 195.0, 265.0))
"""Sides of the square anchors of each stride, in network pixels."""
CLASSES: Final = 2
ROW: Final = 5 + CLASSES

ALONG: Final = (16, 32, 48)
"""Samples of a strip along its side of the box, for each refining pass."""
ACROSS: Final = 16
"""Samples of a strip from outside the box to inside."""
BEYOND: Final = 2.0
"""How far a strip reaches beyond the ends of its side, in network pixels."""
REACH: Final = ((6.0, 0.08), (3.0, 0.02), (1.5, 0.01))
"""How far the strips of each refining pass reach to either side: network pixels, and a share of the box."""

_STEM, _FINE, _MIDDLE, _COARSE, _STRIP = 16, 32, 64, 96, 16

Pair = tuple[int, int]
Tensor = Any
"""What the backend of `Ops` calls an array; images are (n, channels, height, width) or channels last."""


class Ops(Protocol):
    """What the networks are made of; `conv` has weights by `name`."""

    def conv(
        self,
        x: Tensor,
        name: str,
        out: int,
        *,
        size: Pair = (3, 3),
        stride: Pair = (1, 1),
        pad: Pair = (1, 1),
    ) -> Tensor:
        """Convolution with bias."""

    def relu(self, x: Tensor) -> Tensor:
        """The positive part."""

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum."""

    def double(self, x: Tensor) -> Tensor:
        """Each pixel twice in both directions."""

    def extremes(self, x: Tensor) -> Tensor:
        """Maximum and mean over the height, which becomes 1, as twice the channels."""


def heads(ops: Ops, image: Tensor) -> list[Tensor]:
    """Raw outputs per stride: `ROW` numbers for each of the 3 anchors, anchors first."""

    def block(x: Tensor, name: str, width: int) -> Tensor:
        return ops.relu(ops.add(x, ops.conv(x, name, width)))

    def merge(x: Tensor, above: Tensor, name: str, width: int) -> Tensor:
        lifted = ops.double(ops.conv(above, f"{name}_above", width, size=(1, 1), pad=(0, 0)))
        return ops.relu(ops.add(ops.conv(x, name, width, size=(1, 1), pad=(0, 0)), lifted))

    stem = ops.relu(ops.conv(image, "stem", _STEM, size=(4, 4), stride=(4, 4), pad=(0, 0)))
    fine = block(ops.relu(ops.conv(stem, "fine0", _FINE, stride=(2, 2))), "fine1", _FINE)
    middle = block(ops.relu(ops.conv(fine, "middle0", _MIDDLE, stride=(2, 2))), "middle1", _MIDDLE)
    middle = block(middle, "middle2", _MIDDLE)
    coarse = block(ops.relu(ops.conv(middle, "coarse0", _COARSE, stride=(2, 2))), "coarse1", _COARSE)
    coarse = block(coarse, "coarse2", _COARSE)
    middle = block(merge(middle, coarse, "middle3", _MIDDLE), "middle4", _MIDDLE)
    fine = block(merge(fine, middle, "fine3", _FINE), "fine4", _FINE)
    outputs = zip((fine, middle, coarse), STRIDES, strict=True)
    return [ops.conv(x, f"head{stride}", 3 * ROW, size=(1, 1), pad=(0, 0)) for x, stride in outputs]


def side_offset(ops: Ops, strips: Tensor, name: str) -> Tensor:
    """How far inside the middle of each strip the side lies, in units of the strip's reach: (n, 1, 1, 1)."""
    x = ops.relu(ops.conv(strips, f"{name}_edges", _STRIP, size=(3, 5), stride=(1, 2), pad=(1, 2)))
    x = ops.extremes(ops.relu(ops.conv(x, f"{name}_inside", _STRIP)))
    x = ops.relu(ops.conv(x, f"{name}_profile", 32, size=(1, ACROSS // 2), pad=(0, 0)))
    return ops.conv(x, f"{name}_offset", 1, size=(1, 1), pad=(0, 0))
