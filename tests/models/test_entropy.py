"""The check that tells damage nobody can know from damage that libjpeg forgives."""

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
from entropy import keeps_the_rules

WAYS = {
    "colour": (cv2.IMREAD_COLOR, []),
    "grey": (cv2.IMREAD_GRAYSCALE, []),
    "restart markers": (cv2.IMREAD_COLOR, [cv2.IMWRITE_JPEG_RST_INTERVAL, 3]),
    "tables of its own": (cv2.IMREAD_COLOR, [cv2.IMWRITE_JPEG_OPTIMIZE, 1]),
}


def _jpeg(name):
    kind, how = WAYS[name]
    pixels = np.random.default_rng(1).integers(0, 255, (50, 70, 3), np.uint8)
    pixels = pixels if kind == cv2.IMREAD_COLOR else pixels[..., 0]
    return cv2.imencode(".jpg", pixels, how)[1].tobytes()


@pytest.mark.parametrize("name", WAYS)
def test_what_an_encoder_wrote_keeps_the_rules(name):
    """Sizes that are no multiple of a block, each way of writing."""
    assert keeps_the_rules(_jpeg(name))


@pytest.mark.parametrize("name", WAYS)
def test_what_lacks_a_byte_breaks_one(name):
    """Or has one too many."""
    body = _jpeg(name)
    middle = body.rindex(b"\xff\xda") + 40

    assert not keeps_the_rules(body[:-3] + body[-2:])
    assert not keeps_the_rules(body[:-2] + b"\x55" + body[-2:])
    assert not keeps_the_rules(body[:middle] + b"\xff\xd9" + body[middle:])


def test_what_codes_another_picture_keeps_all_of_them():
    """One bit of a coefficient: valid, and nothing that a decoder could refuse."""
    body = _jpeg("colour")
    begin = body.rindex(b"\xff\xda") + 14
    flipped = (
        body[:at] + bytes([body[at] ^ 1 << bit]) + body[at + 1 :]
        for at in range(begin, len(body) - 40)
        for bit in range(8)
    )

    assert any(keeps_the_rules(other) for other in flipped)
