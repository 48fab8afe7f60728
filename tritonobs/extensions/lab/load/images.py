"""What is sent: plates of several sizes and encodings, bytes that are not an image, and prompts, by weight.

Image bytes are as cameras, phones and print shops write them. OpenCV writes no CMYK and no EXIF orientation,
so those markers are laid around what it does write.
"""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from tritonobs.extensions.lab.load.plates import draw_plate

Pixels: TypeAlias = NDArray[np.uint8]

_PROMPT = re.compile(r"prompt:([1-9]\d{0,4})x([1-9]\d{0,4})")

_START_OF_IMAGE = b"\xff\xd8"
_START_OF_SCAN = b"\xff\xda"
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"

DEFAULT_MIX = "1280x720"
_UNUSABLE = {
    "corrupt": "corrupt_image",
    "empty": "empty_image",
    "huge": "too_large",
    "unsupported": "unsupported_format",
}
_LONGEST_SIDE = 20_000
_DRAWN_SIDE = 4_000
_POOL_PIXELS = 24_000_000
_POOL_IMAGES = 16


def is_prompt(kind: str) -> bool:
    """Whether a kind is `prompt:WORDSxTOKENS`: this many words, and at most this many tokens of an answer."""
    return bool(_PROMPT.fullmatch(kind))


def draw_prompt(kind: str, number: int) -> bytes:
    """The body of a request; prompts of other numbers begin otherwise, so no cache of prefixes knows them.

    Raises:
        ValueError: the kind is not a prompt.
    """
    size = _PROMPT.fullmatch(kind)
    if size is None:
        raise ValueError(f"{kind!r} is not a prompt")
    words = " ".join(f"w{number}.{word}" for word in range(int(size[1])))
    return json.dumps({"text_input": words, "max_tokens": int(size[2])}).encode()


def jpeg(pixels: Pixels, *, quality: int = 92, orientation: int = 1, grey: bool = False) -> bytes:
    """A JPEG that a viewer shows as `pixels` (BGR), stored turned by EXIF `orientation` (1 to 8)."""
    stored = _stored(_as_grey(pixels) if grey else pixels, orientation)
    data = _encoded(".jpg", stored, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if orientation == 1:
        return data
    exif = _segment(0xE1, b"Exif\0\0" + _tiff(orientation))
    return _START_OF_IMAGE + exif + data[2:]


def cmyk_jpeg(pixels: Pixels, *, quality: int = 95) -> bytes:
    """A four-colour JPEG as Adobe programs write it: inverted, one scan per ink."""
    inks = 255 - pixels[:, :, ::-1].astype(np.int16)
    black = inks.min(axis=2)
    planes = [255 - (inks[:, :, i] - black) * 255 // np.maximum(255 - black, 1) for i in range(3)] + [
        255 - black
    ]
    singles = [
        _encoded(".jpg", plane.astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, quality]) for plane in planes
    ]
    quantisation, frame, huffman = (b"".join(_segments(singles[0], marker)) for marker in (0xDB, 0xC0, 0xC4))
    height_width = frame[5:9]
    components = b"".join(bytes([i, 0x11, 0]) for i in range(1, 5))
    adobe = _segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0))
    head = adobe + quantisation + _segment(0xC0, b"\x08" + height_width + b"\x04" + components) + huffman
    scans = b"".join(
        _segment(0xDA, bytes([1, i, 0, 0, 63, 0])) + _entropy_coded(single)
        for i, single in enumerate(singles, 1)
    )
    return _START_OF_IMAGE + head + scans + b"\xff\xd9"


def png(pixels: Pixels, *, alpha: bool = False, grey: bool = False, orientation: int = 1) -> bytes:
    """A PNG that a viewer shows as `pixels` (BGR); with `alpha`, opaque but for two corners."""
    stored = _stored(_as_grey(pixels) if grey else pixels, orientation)
    if alpha:
        cover = np.full(stored.shape[:2], 255, np.uint8)
        cover[:2, :2] = cover[-2:, -2:] = 128
        stored = np.dstack([stored, cover])
    data = _encoded(".png", stored, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if orientation == 1:
        return data
    end_of_header = len(_PNG_SIGNATURE) + 25
    return data[:end_of_header] + _chunk(b"eXIf", _tiff(orientation)) + data[end_of_header:]


def huge_png(width: int = 12_000, height: int = 8_000) -> bytes:
    """A whole, valid PNG of one bit a pixel: a few kilobytes that ask for a lot of memory."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" * (1 + (width + 7) // 8)) * height)
    return _PNG_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _truncated(rng: np.random.Generator) -> bytes:
    data = jpeg(rng.integers(0, 256, (48, 64, 3), np.uint8))
    return data[: int(rng.integers(len(data) // 2, len(data) - 2))]


BROKEN: Final[dict[str, Callable[[np.random.Generator], bytes]]] = {
    "corrupt_image": _truncated,
    "empty_image": lambda _: b"",
    "too_large": lambda _: huge_png(),
    "unsupported_format": lambda rng: b"GIF89a" + rng.bytes(64),
}
"""By the reason the models refuse them under: makers of bytes that are not a usable image."""


def _stored(upright: Pixels, orientation: int) -> Pixels:
    """What a camera stores so that EXIF `orientation` turns it upright."""
    turns: dict[int, Callable[[Pixels], Pixels]] = {
        1: lambda p: p,
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.swapaxes(0, 1),
        6: lambda p: p.swapaxes(0, 1)[::-1],
        7: lambda p: p.swapaxes(0, 1)[::-1, ::-1],
        8: lambda p: p.swapaxes(0, 1)[:, ::-1],
    }
    return np.ascontiguousarray(turns[orientation](upright))


def _as_grey(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), np.uint8)


def _encoded(suffix: str, pixels: Pixels, options: list[int]) -> bytes:
    return cv2.imencode(suffix, pixels, options)[1].tobytes()


def _tiff(orientation: int) -> bytes:
    """The TIFF block of EXIF: one directory with the orientation (tag 0x0112, SHORT)."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def _segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def _segments(data: bytes, wanted: int) -> list[bytes]:
    """The segments with the marker `wanted` that stand before the first scan."""
    found, at = [], 2
    while data[at : at + 2] != _START_OF_SCAN:
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        if data[at + 1] == wanted:
            found.append(data[at:end])
        at = end
    return found


def _entropy_coded(data: bytes) -> bytes:
    """The scan of a one-component JPEG, without its header and the end marker."""
    start = data.index(_START_OF_SCAN)
    return data[start + 2 + struct.unpack_from(">H", data, start + 2)[0] : -2]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


_ENCODERS: dict[str, Callable[[NDArray[np.uint8]], bytes]] = {
    "jpeg": jpeg,
    "grey": partial(jpeg, grey=True),
    "cmyk": cmyk_jpeg,
    "turned": partial(jpeg, orientation=6),
    "png": png,
    "alpha": partial(png, alpha=True),
}
_SIZE = re.compile(rf"(?:({'|'.join(_ENCODERS)}):)?(\d{{1,5}})x(\d{{1,5}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredient:
    """One kind of image or prompt and its share of the traffic, `weight` out of the sum of all weights."""

    kind: str
    weight: float


def parse_mix(text: str) -> tuple[Ingredient, ...]:
    """The kinds of a mix such as `1280x720=8,png:640x640=2,corrupt=1`; a weight left out is 1.

    Raises:
        ValueError: all that is wrong with it, and what is allowed.
    """
    ingredients, wrong = [], []
    for part in text.split(","):
        kind, _, weight = (piece.strip() for piece in part.partition("="))
        try:
            share = float(weight or 1)
        except ValueError:
            share = -1.0
        if not 0 < share < float("inf"):
            wrong.append(f"{part.strip()!r}: the weight is not a number above 0")
        if not _known(kind):
            wrong.append(f"{kind!r} is not a kind of image")
        ingredients.append(Ingredient(kind=kind, weight=share))
    if not wrong and len({is_prompt(one.kind) for one in ingredients}) > 1:
        wrong.append(f"{text!r} has images and prompts, and no model takes both")
    if wrong:
        raise ValueError(
            f"{'; '.join(wrong)}; write WIDTHxHEIGHT (at most {_LONGEST_SIDE} a side), with one of "
            f"{', '.join(f'{name}:' for name in _ENCODERS)} before it or none, or one of "
            f"{', '.join(_UNUSABLE)}; or prompt:WORDSxTOKENS of its answer; each with =WEIGHT or none"
        )
    return tuple(ingredients)


def _known(kind: str) -> bool:
    size = _SIZE.fullmatch(kind)
    return (
        kind in _UNUSABLE
        or is_prompt(kind)
        or bool(size and all(0 < int(side) <= _LONGEST_SIDE for side in size.groups()[1:]))
    )


def usable(kind: str) -> bool:
    """Whether a kind is an image or a prompt, and not bytes that must be refused."""
    return kind not in _UNUSABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One body to send and the kind it belongs to."""

    kind: str
    body: bytes


def draw_shots(mix: Sequence[Ingredient], *, seed: int = 0) -> tuple[tuple[Shot, ...], ...]:
    """For every ingredient some bodies, encoded before the run so that drawing costs nothing during it."""
    return tuple(
        _draw_kind(ingredient.kind, np.random.default_rng([seed, number]))
        for number, ingredient in enumerate(mix)
    )


def choose_shots(
    mix: Sequence[Ingredient], shots: Sequence[Sequence[Shot]], requests: int, *, seed: int = 0
) -> tuple[Shot, ...]:
    """What each request carries; the same seed gives the same sequence."""
    source = random.Random(seed)  # noqa: S311 (order of test traffic, no secret)
    pools = source.choices(shots, weights=[ingredient.weight for ingredient in mix], k=requests)
    return tuple(source.choice(pool) for pool in pools)


def _draw_kind(kind: str, rng: np.random.Generator) -> tuple[Shot, ...]:
    if kind in _UNUSABLE:
        make = BROKEN[_UNUSABLE[kind]]
        return tuple(Shot(kind=kind, body=make(rng)) for _ in range(_POOL_IMAGES))
    if is_prompt(kind):
        return tuple(Shot(kind=kind, body=draw_prompt(kind, number)) for number in range(_POOL_IMAGES))
    size = _SIZE.fullmatch(kind)
    if size is None:
        raise ValueError(f"{kind!r} is not a kind of image")
    encode, width, height = _ENCODERS[size[1] or "jpeg"], int(size[2]), int(size[3])
    number = max(1, min(_POOL_IMAGES, _POOL_PIXELS // (width * height)))
    return tuple(Shot(kind=kind, body=encode(_pixels(width, height, rng))) for _ in range(number))


def _pixels(width: int, height: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A plate; the largest are enlarged from a smaller drawing, because drawing takes 12 bytes a pixel."""
    shrink = min(1.0, _DRAWN_SIDE / max(width, height))
    plate = draw_plate(rng, width=max(1, round(width * shrink)), height=max(1, round(height * shrink)))
    if shrink == 1:
        return plate.pixels
    return cv2.resize(plate.pixels, (width, height)).astype(np.uint8, copy=False)
