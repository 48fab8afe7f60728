"""Takes the requests of a batch through the steps together; an error of one does not affect the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from boxes import Settings, encode, keep_confident, suppress, to_original

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tritonobs.stage import Stages

    Request = tuple[NDArray[np.float32], NDArray[np.float32]]


class BadGeometry(ValueError):
    """A geometry row cannot be one of `preprocess`; the text begins with the reason."""

    reason = "bad_geometry"

    def __init__(self, geometry: NDArray[np.float32]) -> None:
        super().__init__(
            f"{self.reason}: {geometry.tolist()}, expected finite numbers, positive scales and sizes"
        )


class Reporter:
    """Turns the rows of batches into JSON. `settings` may be replaced between two batches."""

    def __init__(self, stages: Stages, settings: Settings) -> None:
        self.settings = settings
        self._stages = stages

    def __call__(self, requests: Sequence[Request]) -> list[list[bytes] | BadGeometry]:
        """One result per request of rows and geometry, in order: JSON per image, or what is wrong with it."""
        stages, settings = self._stages, self.settings
        failures = [self._failure(geometry) for _, geometry in requests]
        good = [request for request, failure in zip(requests, failures, strict=True) if failure is None]
        with stages.batch("filter", len(good)):
            candidates = [[keep_confident(image, settings) for image in rows] for rows, _ in good]
        with stages.batch("suppress", len(good)):
            kept = [[suppress(found, settings) for found in images] for images in candidates]
        with stages.batch("encode", len(good)):
            results = iter(
                [
                    [
                        encode(to_original(found, row), row, settings)
                        for found, row in zip(images, geometry, strict=True)
                    ]
                    for images, (_, geometry) in zip(kept, good, strict=True)
                ]
            )
        for before, after in zip(candidates, kept, strict=True):
            boxes = sum(len(found.scores) for found in before)
            stages.size("suppress", "boxes", boxes)
            stages.items("suppress", "boxes_in", boxes)
            stages.items("suppress", "boxes_out", sum(len(found.scores) for found in after))
        return [next(results) if failure is None else failure for failure in failures]

    def _failure(self, geometry: NDArray[np.float32]) -> BadGeometry | None:
        positive = geometry[:, (0, 1, 4, 5)] > 0
        if np.isfinite(geometry).all() and positive.all():
            return None
        self._stages.invalid("filter", BadGeometry.reason)
        return BadGeometry(geometry)
