"""What each row of the heads should say of an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detector.network import ANCHORS, STRIDES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEAR = np.log(1.5)
_CELLS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Per example, `_CELLS` times its objects: a row of the heads, and the box and class it should say.

    `weights` is 1 where there is an object, else 0; `silent` (examples, rows) is 1 where a row should say
    nothing.
    """

    rows: NDArray[np.int32]
    boxes: NDArray[np.float32]
    classes: NDArray[np.int32]
    weights: NDArray[np.float32]
    silent: NDArray[np.float32]

    def take(self, which: NDArray[np.int64]) -> tuple[NDArray[np.generic], ...]:
        """The arrays of the examples at `which`, in the order above."""
        return tuple(
            array[which] for array in (self.rows, self.boxes, self.classes, self.weights, self.silent)
        )


def assign(boxes: NDArray[np.float32], classes: NDArray[np.int32], *, side: int) -> Targets:
    """The anchor nearest in size speaks for an object, in the cell of its centre and two cells next to it.

    Anchors nearly as near in size may say what they like in these cells.
    """
    count, objects = classes.shape
    grids = [side // stride for stride in STRIDES]
    first = np.cumsum([0, *(3 * grid * grid for grid in grids)])
    rows = np.zeros((count, objects * _CELLS), np.int32)
    weights = np.zeros((count, objects * _CELLS), np.float32)
    silent = np.ones((count, first[-1]), np.float32)
    size = np.maximum(np.sqrt(((boxes[..., 2:] - boxes[..., :2]) ** 2).mean(axis=-1)), 1)
    distance = np.abs(np.log(size[..., None] / np.array(ANCHORS).ravel()))
    for example, thing in zip(*np.nonzero(classes >= 0), strict=True):
        best = distance[example, thing].argmin()
        for number in np.flatnonzero((distance[example, thing] < _NEAR) | (np.arange(9) == best)):
            level, anchor = divmod(int(number), 3)
            grid = grids[level]
            centre = (boxes[example, thing, :2] + boxes[example, thing, 2:]) / 2 / STRIDES[level]
            x, y = centre.astype(int)
            beside = np.where(centre % 1 * 2 > 1, 1, -1)
            for i, (cx, cy) in enumerate(((x, y), (x + beside[0], y), (x, y + beside[1]))):
                if not (0 <= cx < grid and 0 <= cy < grid):
                    continue
                row = first[level] + (anchor * grid + cy) * grid + cx
                silent[example, row] = 0
                if number == best:
                    rows[example, thing * _CELLS + i] = row
                    weights[example, thing * _CELLS + i] = 1
    return Targets(
        rows=rows,
        boxes=boxes.repeat(_CELLS, axis=1),
        classes=classes.repeat(_CELLS, axis=1),
        weights=weights,
        silent=silent,
    )
