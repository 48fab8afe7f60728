"""Takes the requests of a batch through the steps together; an error of one does not affect the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from decode import SIDE, Decoded, decode
from letterbox import letterbox, normalise
from refusal import ImageRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from refusal import Reason
    from settings import Settings

    from tritonobs.stage import Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One request's input for the network: a row per image in both."""

    tensor: NDArray[np.float32]
    geometry: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why one request was refused.

    A plain value: an exception that is kept holds the frames it went through, and in them the images, until
    Python's collector of cycles happens to run.
    """

    reason: Reason
    text: str


class Preprocessor:
    """Prepares up to `max_batch_size` images at a time, in memory of its own that the next call reuses."""

    def __init__(self, stages: Stages, settings: Settings, *, max_batch_size: int) -> None:
        self._stages = stages
        self._settings = settings
        self._memory = np.empty((max_batch_size, 3, SIDE, SIDE), np.float32)

    def __call__(self, requests: Sequence[Sequence[bytes]]) -> list[Prepared | Refusal]:
        """One result per request, in order: its images prepared, or why the first bad one was refused."""
        with self._stages.batch("decode", len(requests)):
            decoded = [self._decode(images) for images in requests]
        good = [images for images in decoded if not isinstance(images, Refusal)]
        with self._stages.batch("letterbox", len(good)):
            fitted = [[letterbox(image) for image in images] for images in good]
        with self._stages.batch("normalise", len(good)):
            prepared = iter(self._normalise(fitted))
        return [images if isinstance(images, Refusal) else next(prepared) for images in decoded]

    def _decode(self, images: Sequence[bytes]) -> list[Decoded] | Refusal:
        try:
            decoded = [decode(image, self._settings) for image in images]
        except ImageRefused as refused:
            self._stages.invalid("decode", refused.reason)
            return Refusal(reason=refused.reason, text=str(refused))
        for image in decoded:
            megapixels = image.header.width * image.header.height / 1e6
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
