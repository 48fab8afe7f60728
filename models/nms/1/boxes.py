"""From the rows of a YOLOv5 head to what a client reads: filter, suppress, map back, JSON.

A row is centre x, centre y, width, height in network pixels, objectness, then one score per class. A geometry
row is what `preprocess` answers: scale_x, scale_y, pad_x, pad_y, width, height (of the upright original).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

_OBJECTNESS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to keep. Only the `max_candidates` best rows enter suppression, so its time is bounded."""

    labels: tuple[str, ...]
    confidence: float
    iou: float
    max_candidates: int
    max_detections: int

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> Settings:
        """From the model's parameters in config.pbtxt; those it does not know belong to others."""
        return cls(
            labels=tuple(label.strip() for label in parameters["labels"].split(",")),
            confidence=float(parameters["confidence"]),
            iou=float(parameters["iou"]),
            max_candidates=int(parameters["max_candidates"]),
            max_detections=int(parameters["max_detections"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Boxes (n, 4) as left, top, right, bottom; scores and classes (n,); best score first."""

    boxes: Rows
    scores: Rows
    classes: NDArray[np.int64]

    def take(self, which: NDArray[np.intp]) -> Candidates:
        """Those at the indices `which`."""
        return Candidates(boxes=self.boxes[which], scores=self.scores[which], classes=self.classes[which])


def keep_confident(rows: Rows, settings: Settings) -> Candidates:
    """The rows whose objectness times best class score reaches the confidence, in network pixels.

    One pass over the objectness column first: a score is never above it. Rows with a number that is not
    finite are left out.
    """
    rows = rows[np.flatnonzero(rows[:, _OBJECTNESS] >= settings.confidence)]
    per_class = rows[:, _OBJECTNESS + 1 :] * rows[:, _OBJECTNESS, None]
    classes = per_class.argmax(axis=1)
    scores = per_class[np.arange(len(rows)), classes]
    chosen = np.flatnonzero((scores >= settings.confidence) & np.isfinite(rows).all(axis=1))
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")[: settings.max_candidates]]
    centre, half = rows[chosen, :2], rows[chosen, 2:4] / 2
    boxes = np.concatenate([centre - half, centre + half], axis=1)
    return Candidates(boxes=boxes, scores=scores[chosen], classes=classes[chosen])


def suppress(candidates: Candidates, settings: Settings) -> Candidates:
    """Class-aware non-maximum suppression: of one class's boxes that overlap above `iou`, the best stays."""
    corners = candidates.boxes.astype(float)
    corners[:, 2:] -= corners[:, :2]
    kept = cv2.dnn.NMSBoxesBatched(
        corners.tolist(),
        candidates.scores.tolist(),
        candidates.classes.tolist(),
        score_threshold=0.0,
        nms_threshold=settings.iou,
    )
    return candidates.take(np.array(kept[: settings.max_detections], np.intp))


def to_original(candidates: Candidates, geometry: Rows) -> Candidates:
    """In pixels of the upright original, clipped to it; what lies wholly in the padding is left out."""
    scale, pad, size = geometry[:2], geometry[2:4], geometry[4:6]
    boxes = np.clip((candidates.boxes.reshape(-1, 2, 2) - pad) / scale, 0, size).reshape(-1, 4)
    inside = np.flatnonzero((boxes[:, 2:] > boxes[:, :2]).all(axis=1))
    return Candidates(boxes=boxes, scores=candidates.scores, classes=candidates.classes).take(inside)


def encode(found: Candidates, geometry: Rows, settings: Settings) -> bytes:
    """The client's JSON: image size, and per detection the class, its score and the box in pixels."""
    rows = zip(
        found.classes.tolist(),
        found.scores.tolist(),
        np.round(found.boxes, 2).astype(float).tolist(),
        strict=True,
    )
    detections = [
        {
            "class": settings.labels[number],
            "score": round(score, 4),
            "box": [round(side, 2) for side in box],
        }
        for number, score, box in rows
    ]
    image = {"width": int(geometry[4]), "height": int(geometry[5])}
    return json.dumps({"image": image, "detections": detections}, separators=(",", ":")).encode()
