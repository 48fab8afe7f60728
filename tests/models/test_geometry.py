"""Where a point of the original lands in the network's input, to a fraction of a pixel."""

import cv2
import numpy as np
import pytest

from tritonobs.extensions.lab.load.images import jpeg, png

SIZES = [
    pytest.param(640, 640, id="as the network"),
    pytest.param(641, 359, id="odd, hardly reduced"),
    pytest.param(1921, 1083, id="odd, decoded at half"),
    pytest.param(2567, 1931, id="odd, decoded at a quarter"),
    pytest.param(701, 3999, id="tall, decoded at a quarter"),
    pytest.param(37, 29, id="enlarged"),
]


def _bright_rectangle(width, height):
    """A rectangle brighter than its surroundings, and its middle in pixels."""
    left, top, right, bottom = width // 5, height // 4, width // 5 + width // 3, height // 4 + height // 5
    pixels = np.full((height, width, 3), 60, np.uint8)
    pixels[top:bottom, left:right] = 200
    return pixels, np.array([left + right, top + bottom]) / 2


def _middle_seen(tensor, geometry):
    """The middle of what is bright in pixels of the original, and how many of those a network pixel is."""
    scale, pad, size = geometry[:2], geometry[2:4], geometry[4:6]
    left, top = np.ceil(pad).astype(int)
    right, bottom = np.floor(pad + size * scale).astype(int)
    bright = tensor[0, 1, top:bottom, left:right].astype(float)
    bright -= np.median(bright)
    bright[bright < bright.max() * 0.02] = 0
    at_y, at_x = np.mgrid[top:bottom, left:right] + 0.5
    middle = np.array([(bright * at_x).sum(), (bright * at_y).sum()]) / bright.sum()
    return (middle - pad) / scale, 1 / scale.min()


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_jpeg_maps_back_exactly_whatever_its_size_and_turn(chain, width, height, orientation):
    """Reduced decoding, rounding and mirroring move nothing; scaling errs by up to 0.15 network pixels."""
    pixels, middle = _bright_rectangle(width, height)

    tensor, geometry = chain.prepare(jpeg(pixels, quality=98, orientation=orientation))

    assert geometry[4:6].tolist() == [width, height]
    seen, coarseness = _middle_seen(tensor, geometry)
    np.testing.assert_allclose(seen, middle, atol=0.15 * coarseness)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_png_maps_back_exactly_whatever_its_turn(chain, orientation):
    """PNG carries the EXIF orientation in a chunk of its own."""
    pixels, middle = _bright_rectangle(1501, 907)

    tensor, geometry = chain.prepare(png(pixels, orientation=orientation))

    seen, coarseness = _middle_seen(tensor, geometry)
    np.testing.assert_allclose(seen, middle, atol=0.15 * coarseness)


def test_picture_is_the_one_opencv_would_show(chain):
    """Turned by EXIF as OpenCV itself turns it."""
    pixels = cv2.GaussianBlur(np.random.default_rng(2).integers(0, 256, (48, 64, 3), np.uint8), (0, 0), 4)
    for orientation in range(1, 9):
        data = jpeg(pixels, quality=95, orientation=orientation)

        tensor, _ = chain.prepare(data)

        plain, _ = chain.prepare(png(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)))
        np.testing.assert_allclose(tensor, plain, atol=0.05)


def test_one_pixel_is_an_image_too(chain):
    """The smallest image fills the square."""
    tensor, geometry = chain.prepare(png(np.full((1, 1, 3), 9, np.uint8)))

    assert geometry.tolist() == [640, 640, 0, 0, 1, 1]
    assert np.ptp(tensor[0], axis=(1, 2)).max() == 0


def test_thinnest_strip_keeps_its_pixel(chain):
    """A line of 4000 pixels is still there when scaled to the square."""
    tensor, geometry = chain.prepare(png(np.full((1, 4000, 3), 250, np.uint8)))

    assert geometry[:2].tolist() == pytest.approx([0.16, 1])
    assert (tensor[0, 0].max(axis=1) > tensor[0, 0].min()).sum() == 1
