"""Whether the data of a baseline JPEG keeps every rule of its format: more than decoders look at.

libjpeg forgives runs past the end of a block, coefficients beyond their range and wrong bits at the end of a
segment. What keeps all of them is a JPEG of another picture, and no decoder can tell.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

_LOOK = 16
_DHT, _SOF0, _DRI, _SOS, _EOI = 0xC4, 0xC0, 0xDD, 0xDA, 0xD9
_BLOCK, _DC_BITS, _AC_BITS, _SKIP16 = 64, 11, 10, 0xF0
_DC_RANGE = 1 << 11
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Component:
    """Blocks of a component in each unit of the scan, and its tables of codes: (bits, symbol) by 16 bits."""

    blocks: int
    dc: list[tuple[int, int]]
    ac: list[tuple[int, int]]


class Broken(ValueError):
    """A rule of the format that the data does not keep."""


def keeps_the_rules(body: bytes) -> bool:
    """Whether the data of a baseline JPEG with one scan could have been written by an encoder."""
    try:
        _check(body)
    except (Broken, IndexError, struct.error):
        return False
    return True


def _check(body: bytes) -> None:
    tables: dict[int, list[tuple[int, int]]] = {}
    at, interval, size, sampling = 2, 0, (0, 0), dict[int, tuple[int, int]]()
    while True:
        marker, (length,) = body[at + 1], struct.unpack_from(">H", body, at + 2)
        part = body[at + 4 : at + 2 + length]
        if marker == _DHT:
            _read_tables(part, tables)
        elif marker == _SOF0:
            height, width, count = struct.unpack_from(">xHHB", part)
            size = (width, height)
            sampling = {part[6 + 3 * n]: (part[7 + 3 * n] >> 4, part[7 + 3 * n] & 15) for n in range(count)}
        elif marker == _DRI:
            (interval,) = struct.unpack(">H", part)
        at += 2 + length
        if marker == _SOS:
            break
    across, down = (max(each) for each in zip(*sampling.values(), strict=True))
    units = -(-size[0] // (8 * across)) * -(-size[1] // (8 * down))
    components = [
        _Component(
            blocks=sampling[part[1 + 2 * n]][0] * sampling[part[1 + 2 * n]][1],
            dc=tables[part[2 + 2 * n] >> 4],
            ac=tables[16 | part[2 + 2 * n] & 15],
        )
        for n in range(part[0])
    ]
    if not body.endswith(bytes([0xFF, _EOI])):
        raise Broken("no end")
    segments = _RESTART.split(body[at:-2])
    for number, segment in enumerate(segments):
        left = units - number * interval
        if left <= 0:
            raise Broken("more segments than units")
        _check_segment(segment, components, min(interval, left) if interval else units)
    if interval and len(segments) != -(-units // interval):
        raise Broken("fewer segments than units")


def _read_tables(part: bytes, tables: dict[int, list[tuple[int, int]]]) -> None:
    at = 0
    while at < len(part):
        counts = part[at + 1 : at + 17]
        found: list[tuple[int, int]] = []
        symbols = iter(part[at + 17 : at + 17 + sum(counts)])
        for bits, count in enumerate(counts, 1):
            for _ in range(count):
                found += [(bits, next(symbols))] * (1 << (_LOOK - bits))
        tables[part[at]] = found + [(0, 0)] * ((1 << _LOOK) - len(found))
        at += 17 + sum(counts)


class _Bits:
    """Reads a segment bit by bit."""

    def __init__(self, segment: bytes) -> None:
        if re.search(rb"\xff[^\0]", segment):
            raise Broken("a marker inside the data")
        data = segment.replace(b"\xff\0", b"\xff")
        self._at, self._total = 0, 8 * len(data)
        # A look may go past the end.
        self._data = data + b"\xff" * 8

    @property
    def left(self) -> int:
        """Bits that were not taken."""
        return self._total - self._at

    def take(self, bits: int) -> int:
        """The next bits as a number."""
        byte, shift = self._at >> 3, self._at & 7
        self._at += bits
        if self._at > self._total:
            raise Broken("the data ends inside a code")
        return int.from_bytes(self._data[byte : byte + 4], "big") >> (32 - shift - bits) & ((1 << bits) - 1)

    def symbol(self, codes: list[tuple[int, int]]) -> int:
        """What the next code stands for."""
        byte, shift = self._at >> 3, self._at & 7
        bits, found = codes[int.from_bytes(self._data[byte : byte + 3], "big") >> (8 - shift) & 0xFFFF]
        if not bits:
            raise Broken("no such code")
        self._at += bits
        return found


def _check_segment(segment: bytes, components: list[_Component], units: int) -> None:
    data = _Bits(segment)
    means = [0] * len(components)
    for _ in range(units):
        for number, component in enumerate(components):
            for _ in range(component.blocks):
                means[number] += _step(data, component)
                if not -_DC_RANGE <= means[number] < _DC_RANGE:
                    raise Broken("a mean out of range")
                _check_waves(data, component)
    left = data.left
    if left >= 8 or data.take(left) != (1 << left) - 1:
        raise Broken("the data does not end with its last code")


def _step(data: _Bits, component: _Component) -> int:
    """By how much the mean of a block differs from that of the one before."""
    bits = data.symbol(component.dc)
    if bits > _DC_BITS:
        raise Broken("a difference of too many bits")
    step = data.take(bits)
    return step if not bits or step >> (bits - 1) else step - (1 << bits) + 1


def _check_waves(data: _Bits, component: _Component) -> None:
    place = 1
    while place < _BLOCK:
        code = data.symbol(component.ac)
        run, bits = code >> 4, code & 15
        if not bits and code != _SKIP16:
            return
        place += run + 1
        if place > _BLOCK or bits > _AC_BITS:
            raise Broken("a run past the end of its block")
        data.take(bits)
