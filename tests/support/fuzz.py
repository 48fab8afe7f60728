"""What the fuzzed tests are made of: texts, values and documents that are nearly right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tritonobs.spec.schema import Spec

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NUMBERS = (
    "1e-99999999",
    "1e999999",
    "-0",
    "NaN",
    "inf",
    "1" * 5_000,
    "0." + "0" * 400 + "1",
    "\uff11\uff12",
    "1_000",
    "",
)
MOMENTS = ("9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00-14:00", "2026-13-01", "2026-05-01T10:00:00Z")

texts = st.text(st.characters(), max_size=20) | st.sampled_from((*NUMBERS, *MOMENTS))
values: SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=6,
)


def _fields(model: type) -> set[str]:
    return set(model.model_fields)  # type: ignore[attr-defined] # a pydantic model


WORDS = sorted(
    {name for one in [Spec, *Spec.__subclasses__()] for name in _fields(one)}
    | {
        "qps_limit",
        "scheduled_limits",
        "valid_from",
        "valid_until",
        "slos",
        "objective",
        "threshold",
        "calls",
    }
)


@st.composite
def spoiled(draw: st.DrawFn, whole: object) -> object:
    """A sound document with a few of its parts replaced, taken out or added to."""
    document = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 3))):
        here, above, step = document, None, None
        while isinstance(here, (dict, list)) and here and draw(st.integers(0, 3)):
            above = here
            step = draw(st.sampled_from(list(here) if isinstance(here, dict) else range(len(here))))
            here = here[step]
        if above is None:
            continue
        change = draw(st.integers(0, 3))
        if change == 0:
            del above[step]
        elif change == 1 and isinstance(above, dict):
            above[draw(st.sampled_from(WORDS) | texts)] = draw(values)
        else:
            above[step] = draw(values)
    return document
