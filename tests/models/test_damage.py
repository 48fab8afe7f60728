"""Damaged images are refused, and healthy ones of any encoder are not."""

import io
import re

import cv2
import numpy as np
import pytest
import simplejpeg
from decode import decode
from PIL import Image
from refusal import ImageRefused
from settings import Settings

from tritonobs.extensions.lab.load.images import cmyk_jpeg, jpeg, png
from tritonobs.extensions.lab.load.plates import draw_plate

TRIES = 60
PIXELS = draw_plate(np.random.default_rng(5), width=960, height=720).pixels
RGB = np.ascontiguousarray(PIXELS[:, :, ::-1])


def _opencv(*options):
    return cv2.imencode(".jpg", PIXELS, list(options))[1].tobytes()


def _pillow(mode="RGB", **options):
    file = io.BytesIO()
    Image.fromarray(RGB).convert(mode).save(file, "JPEG", **options)
    return file.getvalue()


HEALTHY = {
    "opencv": jpeg(PIXELS),
    "opencv grey": jpeg(PIXELS, grey=True),
    "opencv with EXIF": jpeg(PIXELS, orientation=6),
    "opencv progressive": _opencv(cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "opencv with restart markers": _opencv(cv2.IMWRITE_JPEG_RST_INTERVAL, 4),
    "opencv optimised": _opencv(cv2.IMWRITE_JPEG_OPTIMIZE, 1),
    "opencv 4:1:1": _opencv(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411),
    "opencv 4:4:0": _opencv(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440),
    "adobe, four colours, a scan each": cmyk_jpeg(PIXELS),
    "pillow": _pillow(),
    "pillow progressive": _pillow(progressive=True, optimize=True),
    "pillow with restart markers": _pillow(restart_marker_rows=1),
    "pillow, four colours": _pillow("CMYK"),
    "pillow, RGB as it is": _pillow(keep_rgb=True),
    "pillow with profile and comment": _pillow(icc_profile=bytes(300_000), comment=b"made by hand"),
    "turbojpeg": simplejpeg.encode_jpeg(RGB, colorsubsampling="420"),
}
DAMAGED = [name for name in HEALTHY if "progressive" not in name and "profile" not in name]
ENDINGS = {
    "zeros behind the end": lambda body: body + bytes(1000),
    "anything behind the end": lambda body: body + np.random.default_rng(2).bytes(1000),
    "another image behind the end": lambda body: body + HEALTHY["pillow"],
    "fill bytes before the end": lambda body: body[:-2] + b"\xff\xff\xff\xd9",
    "zeros before the end": lambda body: body[:-2] + b"\0\0\0\0\xff\xd9",
    "fill bytes at the start": lambda body: body[:2] + b"\xff" * 9 + body[2:],
    "scan of another spectrum": lambda body: body.replace(b"\0\x3f\0", b"\0\x3e\0", 1),
}


def _is_refused(body, **settings):
    try:
        decode(body, Settings(**settings))
    except ImageRefused as refused:
        return refused.reason == "corrupt_image"
    return False


def _middles(body):
    """Places in the middle half of a file."""
    return np.random.default_rng(60).integers(len(body) // 4, 3 * len(body) // 4, TRIES)


def _overwritten(body, at):
    return body[:at] + np.random.default_rng(at).bytes(1024) + body[at + 1024 :]


def _lost(body, at):
    return body[:at] + body[at + 1024 :]


def _zeroed(body, at):
    return body[:at] + bytes(1024) + body[at + 1024 :]


def _cut(body, at):
    return body[:at]


@pytest.mark.parametrize("damage", [_overwritten, _lost, _zeroed, _cut])
@pytest.mark.parametrize("name", DAMAGED)
def test_jpeg_damaged_in_the_middle_is_refused(name, damage):
    """At least 59 of 60 where a kilobyte is damaged: JPEG has no checksum, so not each can be known."""
    body = HEALTHY[name]

    refused = sum(_is_refused(damage(body, at)) for at in _middles(body))

    assert refused >= TRIES - 1


@pytest.mark.parametrize("name", [name for name in HEALTHY if "progressive" in name])
def test_progressive_jpeg_is_refused_or_looks_the_same(name):
    """Damage to a late scan changes little: of 60, none is decoded to something else."""
    body = HEALTHY[name]
    healthy = decode(body, Settings()).pixels.astype(int)
    wrong = 0
    for at in _middles(body):
        damaged = _overwritten(body, at)
        if not _is_refused(damaged):
            wrong += np.abs(decode(damaged, Settings()).pixels - healthy).mean() > 2

    assert wrong == 0


@pytest.mark.parametrize(
    "damage", [_overwritten, _lost, _zeroed, _cut, lambda body, at: body[:at] + b"?" + body[at + 1 :]]
)
def test_damaged_png_is_refused(damage):
    """Each of 60, down to one byte: every chunk has a checksum."""
    body = png(PIXELS)

    assert all(_is_refused(damage(body, at)) for at in _middles(body) if damage(body, at) != body)


def test_header_of_another_size_is_refused():
    """4000x4000 on the data of 64x64."""
    body = bytearray(jpeg(PIXELS[:64, :64]))
    frame = body.index(b"\xff\xc0")
    body[frame + 5 : frame + 9] = b"\x0f\xa0\x0f\xa0"

    with pytest.raises(
        ImageRefused, match=r"corrupt_image: JPEG of 4000x4000 px cannot be decoded from .*premature"
    ):
        decode(bytes(body), Settings())


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_jpeg_is_decoded_as_opencv_does(name):
    """Of any encoder, to the same pixels."""
    body = HEALTHY[name]

    decoded = decode(body, Settings())

    plain = cv2.imdecode(
        np.frombuffer(body, np.uint8),
        (cv2.IMREAD_GRAYSCALE if decoded.header.grey else cv2.IMREAD_COLOR) | cv2.IMREAD_IGNORE_ORIENTATION,
    )
    np.testing.assert_array_equal(decoded.pixels, plain)


@pytest.mark.parametrize("name", [name for name in HEALTHY if "scan each" not in name])
@pytest.mark.parametrize("ending", ENDINGS)
def test_habits_of_encoders_are_no_damage(name, ending):
    """What stands around the data, or says of it what no decoder needs."""
    assert not _is_refused(ENDINGS[ending](HEALTHY[name]))


def test_damaged_jpeg_can_be_decoded_all_the_same():
    """A setting: what is left of it, in the size it should have."""
    body = HEALTHY["opencv"]

    decoded = decode(body[: len(body) // 2], Settings(decode_damaged=True))

    assert decoded.pixels.shape == (720, 960, 3)
    np.testing.assert_array_equal(decoded.pixels[:200], decode(body, Settings()).pixels[:200])


def test_text_tells_what_the_decoder_found():
    """For whoever has to find out where the image was damaged."""
    body = HEALTHY["opencv"]

    with pytest.raises(ImageRefused) as caught:
        decode(body[:-400] + body[-2:], Settings())

    assert re.fullmatch(
        r"corrupt_image: JPEG of 960x720 px cannot be decoded from \d+ bytes: Corrupt JPEG data: .+",
        str(caught.value),
    )
