"""What is sent: kinds, weights, real encodings."""

from __future__ import annotations

from collections import Counter

import cv2
import numpy as np
import pytest

from tritonobs.extensions.lab.load.images import Ingredient, choose_shots, draw_shots, parse_mix


def test_a_mix_is_read_with_its_weights() -> None:
    """A weight left out is 1; spaces are allowed."""
    assert parse_mix("1280x720=8, png:640x640=2.5,corrupt") == (
        Ingredient(kind="1280x720", weight=8),
        Ingredient(kind="png:640x640", weight=2.5),
        Ingredient(kind="corrupt", weight=1),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", "'' is not a kind", id="nothing"),
        pytest.param("640", "'640' is not a kind", id="one side"),
        pytest.param("gif:640x640", "'gif:640x640' is not a kind", id="an encoding we do not write"),
        pytest.param("0x640", "'0x640' is not a kind", id="no width"),
        pytest.param("99999x640", "'99999x640' is not a kind", id="wider than any camera"),
        pytest.param("640x640=0", "the weight is not a number above 0", id="no weight"),
        pytest.param("640x640=nan", "the weight is not a number above 0", id="not a number"),
        pytest.param("a=b,c", "'a=b': the weight.*'a' is not a kind.*'c' is not a kind", id="all at once"),
    ],
)
def test_a_mix_that_cannot_be_is_refused_with_what_is_allowed(text: str, found: str) -> None:
    """What was found and what is allowed, for every part at once."""
    with pytest.raises(ValueError, match=f"{found}.*write WIDTHxHEIGHT"):
        parse_mix(text)


@pytest.mark.parametrize("encoding", ["", "jpeg:", "grey:", "png:", "alpha:"])
def test_images_have_the_size_that_was_asked_for(encoding: str) -> None:
    """Decoded by the same library the models use."""
    ((shot, *_),) = draw_shots(parse_mix(f"{encoding}160x90"))

    pixels = cv2.imdecode(np.frombuffer(shot.body, np.uint8), cv2.IMREAD_UNCHANGED)

    assert pixels.shape[:2] == (90, 160)


def test_a_turned_image_is_stored_on_its_side() -> None:
    """EXIF turns it back, as phones do: a viewer sees the size that was asked for."""
    ((shot, *_),) = draw_shots(parse_mix("turned:160x90"))
    data = np.frombuffer(shot.body, np.uint8)

    assert cv2.imdecode(data, cv2.IMREAD_COLOR).shape[:2] == (90, 160)
    assert cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION).shape[:2] == (160, 90)


def test_the_largest_images_are_really_that_large() -> None:
    """The one that stopped a production line: 12,000 x 8,000, a whole JPEG."""
    ((shot,),) = draw_shots(parse_mix("12000x8000"))

    pixels = cv2.imdecode(np.frombuffer(shot.body, np.uint8), cv2.IMREAD_REDUCED_GRAYSCALE_8)

    assert pixels.shape == (1000, 1500)


@pytest.mark.parametrize("kind", ["corrupt", "empty", "unsupported"])
def test_unusable_kinds_cannot_be_decoded(kind: str) -> None:
    """Bad bytes are really bad."""
    for shot in draw_shots(parse_mix(kind))[0]:
        data = np.frombuffer(shot.body, np.uint8)
        assert not data.size or cv2.imdecode(data, cv2.IMREAD_COLOR) is None or kind == "corrupt"


def test_the_same_seed_sends_the_same_images_in_the_same_order() -> None:
    """A run can be repeated, byte for byte; another seed is another run."""
    mix = parse_mix("64x64=3,corrupt=1")

    def sequence(seed: int) -> list[bytes]:
        return [shot.body for shot in choose_shots(mix, draw_shots(mix, seed=seed), 50, seed=seed)]

    assert sequence(1) == sequence(1)
    assert sequence(1) != sequence(2)


def test_kinds_come_by_weight() -> None:
    """Three of four requests carry the kind with three quarters of the weight."""
    mix = parse_mix("64x64=3,empty=1")

    kinds = Counter(shot.kind for shot in choose_shots(mix, draw_shots(mix), 4000))

    assert kinds["64x64"] == pytest.approx(3000, rel=0.05)
