"""What becomes of image bytes before the network sees them, and which are refused."""

import struct
import sys
import zlib

import numpy as np
import pytest
from decode import decode
from refusal import ImageRefused
from settings import Settings

from tritonobs.extensions.lab.load.images import BROKEN, jpeg, png
from tritonobs.extensions.lab.load.plates import draw_plate

START = b"\xff\xd8"


def _plate(width=320, height=200):
    return draw_plate(np.random.default_rng(3), width=width, height=height).pixels


def _reason(body, **settings):
    with pytest.raises(ImageRefused) as caught:
        decode(body, Settings(**settings))
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


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"GIF89a", "GIF"),
        (b"BM", "BMP"),
        (b"II*\0", "TIFF"),
        (b"MM\0*", "TIFF"),
        (b"II+\0", "TIFF"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "WebP"),
        (b"\0\0\0\x1cftypavif", "AVIF"),
        (b"\0\0\0\x18ftypheic", "HEIC"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000"),
        (b"\xff\x0a", "JPEG XL"),
        (b"%PDF-1.7", "PDF"),
        (b"/9j/4AAQSkZJRg", "an image as base64 text"),
        (b"<html>", "XML or HTML"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "bytes that begin with 52 49 46 46"),
    ],
)
def test_other_formats_are_named_and_those_that_are_read_too(start, name):
    """The client learns what it sent and what it should send."""
    _, text = _reason(start + bytes(100))

    assert text.startswith("unsupported_format: ")
    assert name in text
    assert text.endswith("; JPEG and PNG are read")


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (1, b"\xc3", "lossless or hierarchical JPEG"),
        (4, b"\x0c", "JPEG of 12 bits a colour; 8 are read"),
        (9, b"\x02", "JPEG of 2 colours; 1, 3 and 4 are read"),
    ],
)
def test_kinds_of_jpeg_that_are_not_read_are_named(at, value, says):
    """Lossless, 12 bits, two colours: a whole image all the same, and not damaged."""
    body = bytearray(jpeg(_plate()))
    frame = body.index(b"\xff\xc0")
    body[frame + at : frame + at + 1] = value

    assert _reason(bytes(body))[1].startswith(f"unsupported_format: {says}")


def test_large_image_is_refused_from_its_header_alone():
    """Its pixels need not even be there: nothing of them is decoded."""
    (huge,) = (png(np.zeros((8, 12_000, 3), np.uint8)),)

    assert _reason(huge[:60]) == ("too_large", "too_large: 12000x8 px, the limit is 4000 px a side")


def test_limits_on_size_are_settings():
    """An image at a limit passes, one above it does not."""
    body = jpeg(_plate(320, 200))

    assert decode(body, Settings(max_side=320, max_bytes=len(body))).pixels.shape == (200, 320, 3)
    assert _reason(body, max_side=319)[0] == "too_large"
    assert _reason(body, max_bytes=len(body) - 1) == (
        "too_large",
        f"too_large: {len(body)} bytes, the limit is {len(body) - 1} bytes",
    )


def test_settings_are_read_from_the_model_configuration(repository):
    """Every parameter stands there with its default; a word that means nothing is refused."""
    config = (repository / "preprocess" / "config.pbtxt").read_text()
    texts = {"max_side": "4000", "max_bytes": "32000000", "damaged_jpeg": "refuse", "latency_buckets": "1"}

    assert Settings.read(texts) == Settings()
    assert Settings.read(texts | {"damaged_jpeg": "decode"}).decode_damaged
    with pytest.raises(ValueError, match="damaged_jpeg is 'ignore', allowed are: refuse, decode"):
        Settings.read(texts | {"damaged_jpeg": "ignore"})
    for name, value in list(texts.items())[:3]:
        assert f'key: "{name}" value: {{ string_value: "{value}" }}' in config


def _segments_forever():
    return START + b"\xff\xe1\0\2" * 500_000


def _exif_forever():
    block = b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + bytes(60_000)
    return START + (b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block) * 30 + b"\xff\xd9"


def _chunks_forever():
    head = png(_plate())[:33]
    return head + (b"\0\0\0\0tEXt" + struct.pack(">I", zlib.crc32(b"tEXt"))) * 200_000


def _directory_forever():
    body = b"II*\0\x08\0\0\0\xff\xff" + bytes(800_000)
    return png(_plate())[:33] + struct.pack(">I", len(body)) + b"eXIf" + body + bytes(4)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(START + b"\xff" * 5_000_000, "no JPEG marker", id="only fill bytes"),
        pytest.param(_segments_forever(), "more than 2000 JPEG segments", id="small segments"),
        pytest.param(START + b"\xff\xd0" * 2_000_000, "more than 2000 JPEG segments", id="bare markers"),
        pytest.param(_exif_forever(), "no JPEG frame header", id="large EXIF blocks"),
        pytest.param(_chunks_forever(), "more than 2000 PNG chunks", id="small chunks"),
        pytest.param(_directory_forever(), "cannot be decoded", id="large EXIF chunk"),
    ],
)
def test_header_takes_bounded_work_whatever_the_bytes_are(body, says):
    """A few steps for each of 2,000 parts; without the bound these took from 100,000 to 5,000,000."""
    steps = 0

    def count(_frame, event, _arg):
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        found, text = _reason(body)
    finally:
        sys.settrace(before)

    assert found == "corrupt_image"
    assert says in text
    assert steps < 40_000


def test_progressive_jpeg_of_many_scans_is_refused():
    """Each scan takes as long as the whole image, and few bytes."""
    body = jpeg(_plate())
    head, scan = body[: body.index(b"\xff\xda")], body[body.index(b"\xff\xda") : -2]
    progressive = head.replace(b"\xff\xc0", b"\xff\xc2") + scan[:14] * 65 + b"\xff\xd9"

    assert _reason(progressive) == ("too_large", "too_large: JPEG of 65 scans, the limit is 64")


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("grey", [False, True])
def test_png_of_16_bits_is_scaled_by_the_range_it_uses(bits, grey):
    """As machine cameras write them: the values as they are."""
    seen = _plate().astype(np.uint16)
    values = seen << (bits - 8) if bits > 8 else seen
    values[0, 0] = (1 << bits) - 1

    decoded = decode(png(values[..., 0] if grey else values), Settings()).pixels

    expected = np.where(values == (1 << bits) - 1, 255, seen)
    np.testing.assert_array_equal(decoded, expected[..., 0] if grey else expected)


def test_opaque_alpha_is_no_part_of_the_range():
    """It is always 65,535."""
    values = np.dstack([_plate().astype(np.uint16) << 4, np.full((200, 320), 65_535, np.uint16)])

    assert decode(png(values), Settings()).pixels.mean() == pytest.approx(_plate().mean(), abs=0.5)


def test_parts_are_found_in_12_bits(chain):
    """What a camera of 12 bits sees is found as well as in 8."""
    plate = draw_plate(np.random.default_rng(4), width=800, height=600)

    found = chain.find(png(plate.pixels.astype(np.uint16) << 4))

    assert sorted(found.classes) == sorted(plate.classes)


@pytest.mark.parametrize("reason", BROKEN)
def test_every_kind_of_bad_bytes_of_the_load_generator_is_refused(reason):
    """What `tritonobs load` sends as bad is bad, for the reason it says."""
    assert _reason(BROKEN[reason](np.random.default_rng(1)))[0] == reason
