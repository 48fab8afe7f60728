"""What becomes of image bytes before the network sees them, and which are refused."""

import numpy as np
import pytest

from tritonobs.load.encodings import BROKEN, jpeg, png
from tritonobs.load.plates import draw_plate


def _plate(width=320, height=200):
    return draw_plate(np.random.default_rng(3), width=width, height=height).pixels


def _reason(body, max_side=4000):
    from header import ImageRefused  # noqa: PLC0415 (conftest sets the path)
    from letterbox import decode  # noqa: PLC0415

    with pytest.raises(ImageRefused) as caught:
        decode(body, max_side=max_side)
    return caught.value.reason, str(caught.value)


def test_tensor_is_what_the_network_was_trained_on(chain):
    """RGB, normalised, channels first, grey 114 around an image that keeps its shape."""
    pixels = np.full((200, 400, 3), (10, 120, 250), np.uint8)

    tensor, geometry = chain.prepare(png(pixels))

    mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    inside = (np.float32([250, 120, 10]) / 255 - mean) / deviation
    outside = (np.float32([114, 114, 114]) / 255 - mean) / deviation
    assert tensor.shape == (1, 3, 640, 640)
    np.testing.assert_allclose(tensor[0, :, 320, 320], inside, atol=1e-3)
    np.testing.assert_allclose(tensor[0, :, 20, 320], outside, atol=1e-3)
    assert geometry[0] == geometry[1] == pytest.approx(1.6)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty_image"),
        (b"GIF89a" + bytes(40), "unsupported_format"),
        (b"no image at all", "unsupported_format"),
        (jpeg(_plate())[:40], "corrupt_image"),
        (png(_plate())[:20], "corrupt_image"),
    ],
)
def test_unusable_bytes_are_refused_with_a_reason(body, reason):
    """The reason is from the fixed set, and the text begins with it."""
    found, text = _reason(body)

    assert found == reason
    assert text.startswith(f"{reason}: ")


def test_large_image_is_refused_from_its_header_alone():
    """Its pixels need not even be there: nothing of them is decoded."""
    (huge,) = (png(np.zeros((8, 12_000, 3), np.uint8)),)

    assert _reason(huge[:60]) == ("too_large", "too_large: 12000x8 px, the limit is 4000 px a side")


def test_limit_on_size_is_a_setting():
    """An image at the limit passes, one above it does not."""
    assert _reason(jpeg(_plate(320, 200)), max_side=319)[0] == "too_large"


@pytest.mark.parametrize("reason", BROKEN)
def test_every_kind_of_bad_bytes_of_the_load_generator_is_refused(reason):
    """What `tritonobs load` sends as bad is bad, for the reason it says."""
    assert _reason(BROKEN[reason](np.random.default_rng(1)))[0] == reason
