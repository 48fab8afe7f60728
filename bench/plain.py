"""The plain OpenCV way of the pipeline's steps: what most people write, and what ours is compared with.

imdecode, resize, copyMakeBorder, / 255, normalise, transpose; scores of all rows and dnn.NMSBoxes per class.
Needs numpy and OpenCV only, so that it can be a model of its own on a server.
"""

from __future__ import annotations

import cv2
import numpy as np

LABELS = ("part", "defect")
_MEAN, _DEVIATION = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def plain_preprocess(body: bytes) -> tuple[np.ndarray, float, int, int]:
    """Decode, letterbox, / 255, normalise, transpose."""
    image = cv2.cvtColor(cv2.imdecode(np.frombuffer(body, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    height, width = image.shape[:2]
    scale = 640 / max(height, width)
    fitted = cv2.resize(image, (round(width * scale), round(height * scale)))
    top, left = (640 - fitted.shape[0]) // 2, (640 - fitted.shape[1]) // 2
    bottom, right = 640 - fitted.shape[0] - top, 640 - fitted.shape[1] - left
    padded = cv2.copyMakeBorder(fitted, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    tensor = ((padded.astype(np.float32) / 255.0 - _MEAN) / _DEVIATION).transpose(2, 0, 1)[None]
    return np.ascontiguousarray(tensor, np.float32), scale, left, top


def plain_nms(rows: np.ndarray, scale: float, left: int, top: int) -> list[tuple[int, float, list[float]]]:
    """Scores of all rows, best class, dnn.NMSBoxes per class, back to the original image."""
    scores = rows[:, 4:5] * rows[:, 5:]
    best = scores.argmax(axis=1)
    confidence = scores.max(axis=1)
    corners = np.concatenate([rows[:, :2] - rows[:, 2:4] / 2, rows[:, 2:4]], axis=1)
    found = []
    for kind in range(len(LABELS)):
        at = np.flatnonzero((best == kind) & (confidence > 0.25))
        for index in cv2.dnn.NMSBoxes(corners[at].tolist(), confidence[at].tolist(), 0.25, 0.45):
            x, y, width, height = corners[at[index]]
            box = [
                (x - left) / scale,
                (y - top) / scale,
                (x + width - left) / scale,
                (y + height - top) / scale,
            ]
            found.append((kind, float(confidence[at[index]]), box))
    return found
