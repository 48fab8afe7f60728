"""The part of the catalogue of series that a name is about."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

_SUFFIXES: Final = ("_bucket", "_sum", "_count", "_total")
_MOST_NEAR: Final = 3


def about(catalogue: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The series of this name; else those whose name contains it, and what such a name is often taken for."""
    series, misnamed = catalogue.get("series", {}), catalogue.get("misnamed", {})
    word = name.strip()
    known = next((one for one in (word, *_bases(word)) if one in series), "")
    if known:
        found = {known: series[known]}
    else:
        found = {key: one for key, one in series.items() if word.lower() in key}
    wrong = {word: misnamed[word]} if word in misnamed else {}
    meant = wrong.get(word, {}).get("instead", "")
    if not found and meant in series:
        found = {meant: series[meant]}
    if not found and not wrong:
        near = difflib.get_close_matches(word, series, n=_MOST_NEAR, cutoff=0.6)
        found = {one: series[one] for one in near}
        wrong = {
            word: {"name": word, "instead": near[0] if near else "", "why": "no release of Triton has it"}
        }
    groups = {one["group"] for one in found.values()}
    return {
        "groups": {key: one for key, one in catalogue.get("groups", {}).items() if key in groups},
        "series": found,
        "misnamed": wrong,
    }


def _bases(word: str) -> tuple[str, ...]:
    return tuple(word.removesuffix(suffix) for suffix in _SUFFIXES if word.endswith(suffix))
