"""Takes the requests of a batch through the steps together; what is wrong with one stays with that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from header import ImageRefused
from letterbox import SIDE, Decoded, decode, letterbox, normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritonobs.faults import Faults
    from tritonobs.stage import Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One request's input for the network: a row per image in both."""

    tensor: NDArray[np.float32]
    geometry: NDArray[np.float32]


class Preprocessor:
    """Prepares up to `max_batch_size` images at a time, in memory of its own that the next call reuses.

    `faults` are those of a rehearsal.
    """

    def __init__(
        self, stages: Stages, *, max_side: int, max_batch_size: int, faults: Faults | None = None
    ) -> None:
        self._stages = stages
        self._faults = faults
        self._max_side = max_side
        self._memory = np.empty((max_batch_size, 3, SIDE, SIDE), np.float32)

    def __call__(self, requests: Sequence[Sequence[bytes]]) -> list[Prepared | ImageRefused]:
        """One result per request, in order: its images prepared, or why the first bad one was refused."""
        with self._stages.batch("decode", len(requests)):
            decoded = [self._decode(images) for images in requests]
        good = [images for images in decoded if not isinstance(images, ImageRefused)]
        with self._stages.batch("letterbox", len(good)):
            if self._faults:
                self._faults.strike("letterbox")
            fitted = [[letterbox(image) for image in images] for images in good]
        with self._stages.batch("normalise", len(good)):
            prepared = iter(self._normalise(fitted))
        return [images if isinstance(images, ImageRefused) else next(prepared) for images in decoded]

    def _decode(self, images: Sequence[bytes]) -> list[Decoded] | ImageRefused:
        try:
            decoded = [decode(image, max_side=self._max_side) for image in images]
        except ImageRefused as refusal:
            self._stages.error("decode", refusal.reason)
            return refusal
        for image in decoded:
            megapixels = image.header.width * image.header.height / 1e6
            if self._faults:
                megapixels = self._faults.size("decode", megapixels)
            self._stages.size("decode", "megapixels", megapixels)
        self._stages.items("decode", "images", len(decoded))
        return decoded

    def _normalise(self, fitted: list[list[tuple[NDArray[np.uint8], NDArray[np.float32]]]]) -> list[Prepared]:
        rows = iter(self._memory)
        prepared, first = [], 0
        for images in fitted:
            for (pixels, _), row in zip(images, rows, strict=False):
                normalise(pixels, row)
            tensor = self._memory[first : first + len(images)]
            prepared.append(Prepared(tensor=tensor, geometry=np.stack([geometry for _, geometry in images])))
            first += len(images)
        return prepared
