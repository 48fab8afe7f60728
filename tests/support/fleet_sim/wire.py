"""Samples as Prometheus' remote write takes them: a protobuf WriteRequest in a snappy block.

Every sample of our times takes 18 bytes, so numpy writes them at once; a generated protobuf class needs a
minute for what this does in a second. A snappy block may hold its text as one literal, which needs no
library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.fleet_sim.series import Array, Series

_HIGHEST_MS: Final = 2**42
_SAMPLE: Final = np.dtype([("head", "u1", 3), ("value", "<f8"), ("key", "u1"), ("time", "u1", 6)])


def write_request(series: Iterable[Series]) -> bytes:
    """The body of one call of `/api/v1/write`.

    Raises:
        ValueError: a time is before 1970 or after 2109, where its length would be another.
    """
    return _snappy(b"".join(_field(0x0A, _time_series(one)) for one in series))


def _time_series(series: Series) -> bytes:
    return _labels(series.labels) + _samples(series.times_ms, series.values)


def _labels(labels: Mapping[str, str]) -> bytes:
    return b"".join(
        _field(0x0A, _field(0x0A, name.encode()) + _field(0x12, labels[name].encode()))
        for name in sorted(labels)
        if labels[name]
    )


def _samples(times_ms: Array, values: Array) -> bytes:
    if len(times_ms) and not (times_ms.min() >= 0 and times_ms.max() < _HIGHEST_MS):
        raise ValueError(f"times from {times_ms.min()} to {times_ms.max()} ms")
    rows = np.empty(len(times_ms), dtype=_SAMPLE)
    rows["head"] = (0x12, 16, 0x09)
    rows["value"] = values
    rows["key"] = 0x10
    # A short time takes six bytes, too: the last of them may be zeros.
    for place in range(6):
        more = 0x80 if place < 5 else 0
        rows["time"][:, place] = (times_ms >> (7 * place)) & 0x7F | more
    return rows.tobytes()


def _field(key: int, content: bytes) -> bytes:
    return bytes((key,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    done = bytearray()
    while number > 0x7F:
        done.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*done, number))


def _snappy(text: bytes) -> bytes:
    """One literal of up to 4 GiB."""
    return _varint(len(text)) + b"\xfc" + (len(text) - 1).to_bytes(4, "little") + text
