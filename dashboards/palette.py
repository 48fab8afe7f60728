"""Colours: one meaning, one colour, on every board.

The hues are Okabe and Ito's, which colour-blind people can distinguish, lightened where Grafana's dark
theme needs that.
"""

from __future__ import annotations

from typing import Final

BLUE: Final = "#56B4E9"
DEEP_BLUE: Final = "#4E79C4"
GREEN: Final = "#2FBF8F"
YELLOW: Final = "#F0E442"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#E8662F"
PINK: Final = "#CC79A7"
VIOLET: Final = "#9B7EDE"
TEAL: Final = "#3CC8D8"
SAND: Final = "#C9A66B"
GREY: Final = "#8E96A3"
RED: Final = "#E5484D"

GOOD: Final = GREEN
# Yellow enough for Grafana's light theme, where numbers in YELLOW cannot be read.
NOTICE: Final = "#B5AB00"
BAD: Final = ORANGE
CRITICAL: Final = RED
LIMIT: Final = RED

# The stages of the inspection models; a stage of another model is coloured by its name, the same everywhere.
STAGES: Final = {
    "preprocess": BLUE,
    "decode": DEEP_BLUE,
    "letterbox": TEAL,
    "normalise": VIOLET,
    "detector": ORANGE,
    "infer": VERMILION,
    "nms": GREEN,
    "filter": SAND,
    "suppress": PINK,
    "encode": YELLOW,
    "total": GREY,
}

# Where the time of a request goes, as Triton sees it.
PHASES: Final = {"queue": VIOLET, "compute": ORANGE, "other": GREY}

OUTCOMES: Final = {
    "ok": GREEN,
    "error": RED,
    "invalid": SAND,
    "rejected": ORANGE,
    "cancelled": GREY,
}

# As Triton counts them.
FAILURES: Final = {"REJECTED": ORANGE, "CANCELED": GREY, "BACKEND": RED, "OTHER": VIOLET}

# On the way of an alert to people.
DELIVERY: Final = {
    "accepted": GREEN,
    "come_again": ORANGE,
    "firing": VERMILION,
    "resolved": BLUE,
    "missed": ORANGE,
    "failed": RED,
}

SEVERITIES: Final = {"critical": RED, "warning": ORANGE, "info": BLUE}
