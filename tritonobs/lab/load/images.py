"""What is sent: plates of several sizes and encodings, bytes that are no image, and prompts, by weight."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import cv2
import numpy as np

from tritonobs.lab.load.encodings import BROKEN, cmyk_jpeg, jpeg, png
from tritonobs.lab.load.plates import draw_plate
from tritonobs.lab.load.prompts import draw_prompt, is_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

DEFAULT_MIX = "1280x720"
_ENCODERS: dict[str, Callable[[NDArray[np.uint8]], bytes]] = {
    "jpeg": jpeg,
    "grey": partial(jpeg, grey=True),
    "cmyk": cmyk_jpeg,
    "turned": partial(jpeg, orientation=6),
    "png": png,
    "alpha": partial(png, alpha=True),
}
_UNUSABLE = {
    "corrupt": "corrupt_image",
    "empty": "empty_image",
    "huge": "too_large",
    "unsupported": "unsupported_format",
}
_SIZE = re.compile(rf"(?:({'|'.join(_ENCODERS)}):)?(\d{{1,5}})x(\d{{1,5}})")
_LONGEST_SIDE = 20_000
_DRAWN_SIDE = 4_000
_POOL_PIXELS = 24_000_000
_POOL_IMAGES = 16


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
