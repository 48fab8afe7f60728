"""Where panels are drawn: a rectangle of a matplotlib figure, measured in dots from the top left.

Colours are dark, as boards are usually seen. Times of day are in the time zone of this machine. Numbers are
written as Grafana shows them, with a unit and few digits.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from tritonobs.errors import TritonobsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE: Final = "#0f1115"
PANEL: Final = "#181b20"
EDGE: Final = "#2b2f37"
GRID: Final = "#2b2f37"
TEXT: Final = "#d5d9e0"
FAINT: Final = "#8e96a3"
EMPTY: Final = "#22262d"
ZONE: Final = ContextVar[tzinfo | None]("zone of pictures", default=None)
SIZE: Final = 8.0
"""Points of ordinary text; at 100 dots an inch, 11 dots high."""
DOTS_PER_INCH: Final = 100
# Hues of Okabe and Ito come first, which colour-blind people distinguish (dashboards/palette.py).
_BY_NAME: Final = (
    "#56B4E9",
    "#E69F00",
    "#2FBF8F",
    "#CC79A7",
    "#F0E442",
    "#E8662F",
    "#9B7EDE",
    "#3CC8D8",
    "#C9A66B",
    "#7FA650",
    "#F28CB1",
    "#4E79C4",
)
_NARROW: Final = 0.6
"""Width of a letter as a share of the text's size, on average and in DejaVu Sans."""
_EXACT: Final = 64
"""Of the 256 colours of a PNG, how many are the picture's own."""
# Fonts with Chinese, for labels that DejaVu has no letters for; the first that is installed.
_WIDE_FONTS: Final = ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Zen Hei", "SimHei")
_TICKS: Final = (10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
_DOTS_A_LABEL: Final = 105
_MINUTE: Final = 60
_DAY: Final = 86400

_UNITS: Final = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))
_TIMES: Final = frozenset({"s", "dthms", "dtdhms"})
_LONG_SECONDS: Final = 120.0
_SHORT: Final = ((1.0, ""), (1e3, " K"), (1e6, " M"), (1e9, " G"))
_BYTES: Final = tuple(
    (1024.0**power, f" {name}") for power, name in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))
)
_PREFIXES: Final = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"))
_SCALES: Final = {
    "short": _SHORT,
    "bytes": _BYTES,
    "hertz": tuple((size, f" {prefix}Hz") for size, prefix in _PREFIXES),
    "Bps": tuple((size, f" {prefix}B/s") for size, prefix in _PREFIXES),
}
_AFTER: Final = {
    "reqps": " req/s",
    "cps": " /s",
    "eps": " /s",
    "mpm": " /min",
    "epm": " /min",
    "opm": " /min",
    "reqpm": " req/min",
    "watt": " W",
    "celsius": " °C",
    "none": "",
    "percentunit": " %",
}
_DIGITS: Final = 3
_MOST_DECIMALS: Final = 4


def colours_of(names: Iterable[str], fixed: Mapping[str, str | None]) -> dict[str, str]:
    """A colour for every name, by the name: mostly the same in every picture."""
    colours: dict[str, str] = {}
    for name in sorted(names):
        if own := fixed.get(name):
            colours[name] = own
            continue
        # Python's own `hash` of a text differs from process to process.
        start = crc32(name.encode()) % len(_BY_NAME)
        order = [_BY_NAME[(start + offset) % len(_BY_NAME)] for offset in range(len(_BY_NAME))]
        colours[name] = next((one for one in order if one not in colours.values()), order[0])
    return colours


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle of a figure, in dots from its top left."""

    figure: Figure
    left: float
    top: float
    width: float
    height: float

    def inner(self, *, left: float = 0, top: float = 0, right: float = 0, bottom: float = 0) -> Box:
        """The box without these margins."""
        return Box(
            figure=self.figure,
            left=self.left + left,
            top=self.top + top,
            width=max(self.width - left - right, 1),
            height=max(self.height - top - bottom, 1),
        )

    def axes(self, **options: Any) -> Axes:  # noqa: ANN401 (matplotlib's own keywords)
        """Axes that fill the box."""
        across, down = self.figure.get_size_inches() * DOTS_PER_INCH
        place = (
            self.left / across,
            1 - (self.top + self.height) / down,
            self.width / across,
            self.height / down,
        )
        axes = self.figure.add_axes(place, facecolor="none", **options)
        axes.spines[:].set_visible(False)
        axes.tick_params(colors=FAINT, labelsize=SIZE, length=0, pad=4)
        return axes

    def blank(self) -> Axes:
        """Axes without ticks, a unit a dot, from the top left."""
        axes = self.axes()
        axes.set(xlim=(0, self.width), ylim=(self.height, 0), xticks=[], yticks=[])
        return axes


def write(
    axes: Axes,
    across: float,
    down: float,
    text: str,
    colour: str = TEXT,
    *,
    size: float = SIZE,
    ha: str = "left",
    va: str = "center_baseline",
    weight: str = "normal",
    clip: bool = False,
) -> None:
    """Write a text at a place of the axes."""
    axes.text(across, down, text, color=colour, fontsize=size, ha=ha, va=va, weight=weight, clip_on=clip)


def new_box(width: float, height: float, colour: str) -> Box:
    """A new figure of this many dots.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 (half a second, and an extra of its own)
    except ImportError as error:
        raise TritonobsError(
            "pictures need matplotlib; install it with: pip install 'tritonobs[snapshot]'"
        ) from error
    inches = (width / DOTS_PER_INCH, height / DOTS_PER_INCH)
    figure = Figure(figsize=inches, dpi=DOTS_PER_INCH, facecolor=colour)
    return Box(figure=figure, left=0, top=0, width=width, height=height)


def saved(box: Box, form: str) -> bytes:
    """The figure as `png` or `svg`; the same figure gives the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415 (as above)
    from matplotlib.text import Text  # noqa: PLC0415 (as above)

    file = io.BytesIO()
    # Letters stay text, which can be searched. Without a salt, ids in the SVG are random.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tritonobs"}), warnings.catch_warnings():
        # A letter that no installed font has is drawn as an empty box; that is not worth a warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        for text in box.figure.findobj(Text):
            # Names of models may hold dollar signs; they are not formulas.
            text.set_parse_math(False)
            text.set_fontfamily(_fonts())
        box.figure.savefig(file, format=form, facecolor=box.figure.get_facecolor(), metadata=metadata)
    return _fewer_colours(file) if form == "png" else file.getvalue()


def _fewer_colours(file: io.BytesIO) -> bytes:
    """A third of the size; the commonest colours, grounds and frames, stay exact."""
    from PIL import Image  # noqa: PLC0415 (comes with matplotlib)

    small = io.BytesIO()
    with Image.open(file) as image:
        full = image.convert("RGB")
    # `getcolors` gives nothing where there are more colours than it may count, 256 by default.
    counted = full.getcolors(full.width * full.height) or []
    common = [colour for _, colour in sorted(counted, reverse=True)[:_EXACT]]
    others = full.quantize(256 - _EXACT, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*chain.from_iterable(common), *others][: 3 * 256])
    full.quantize(palette=palette, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def shortened(text: str, width: float, size: float = SIZE) -> str:
    """The text, cut with an ellipsis where it would be wider than `width` dots."""
    most = max(int(width / (size * _NARROW * DOTS_PER_INCH / 72)), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def width_of(text: str, size: float = SIZE) -> float:
    """About how many dots wide the text is."""
    return len(text) * size * _NARROW * DOTS_PER_INCH / 72


@lru_cache(maxsize=1)
def _fonts() -> list[str]:
    from matplotlib import font_manager  # noqa: PLC0415 (as above)

    installed = set(font_manager.get_font_names())
    # DejaVu Sans comes with matplotlib and is what `width_of` estimates.
    return ["DejaVu Sans", *(name for name in _WIDE_FONTS if name in installed)][:2]


def time_ticks(start: float, end: float, dots: float) -> list[tuple[float, str]]:
    """Round times between two moments (Unix seconds), as many as fit into `dots`, with their labels."""
    most = max(dots / _DOTS_A_LABEL, 1)
    step = next((step for step in _TICKS if (end - start) / step <= most), _TICKS[-1])
    form = "%H:%M:%S" if step < _MINUTE else "%H:%M" if step < _DAY else "%d %b"
    # Ticks are round in the zone of this machine: days begin at its midnight, not at that of UTC.
    shift = local(start).utcoffset()
    offset = shift.total_seconds() if shift else 0.0
    first = -(-(start + offset) // step) * step - offset
    count = int((end - first) // step) + 1
    return [(time, local(time).strftime(form)) for time in (first + place * step for place in range(count))]


def show_times(axes: Axes, start: float, end: float, dots: float) -> None:
    """Let the axes go from one moment to another, with ticks at round times."""
    ticks = time_ticks(start, end, dots)
    axes.set_xlim(start, end)
    axes.set_xticks([time for time, _ in ticks], [text for _, text in ticks])


def span_text(start: float, end: float) -> str:
    """From when to when, with the zone."""
    first, last = local(start), local(end)
    if first.date() == last.date():
        return f"{first:%Y-%m-%d %H:%M:%S} to {last:%H:%M:%S %Z}"
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M %Z}"


def local(time: float) -> datetime:
    """A moment in the zone of the picture, which is this machine's unless `ZONE` says another."""
    return datetime.fromtimestamp(time, tz=timezone.utc).astimezone(ZONE.get())


def text_of(value: float, unit: str, decimals: int | None = None, *, like: float | None = None) -> str:
    """The value in its unit; `like` is a value whose scale it shares, so that an axis has one unit."""
    scale = abs(value if like is None else like)
    if unit in _TIMES:
        number, after = _scaled(value, scale, _UNITS if scale >= _LONG_SECONDS else _UNITS[:3])
        after = f" {after}"
    elif unit in _SCALES:
        number, after = _scaled(value, scale, _SCALES[unit])
    else:
        number, after = value * (100 if unit == "percentunit" else 1), _AFTER.get(unit, f" {unit}")
    return f"{_digits(number, decimals)}{after}"


def binary_step(span: float) -> float:
    """Bytes between two ticks: a power of two, four to seven of them in the span."""
    return 2.0 ** math.floor(math.log2(span / 4)) if span > 0 else 1.0


def _scaled(value: float, scale: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    if scale == 0:
        first = next(one for one in units if one[0] >= 1)
        return value, first[1]
    # What three digits round up belongs to the next unit: 0.9996 s is 1 s and not 1000 ms.
    size, name = next((one for one in reversed(units) if scale >= one[0] * 0.9995), units[0])
    return value * (1 / size), name


def _digits(number: float, decimals: int | None) -> str:
    """Three digits that count, or as many decimals as asked for; no zeros at the end."""
    if decimals is None:
        size = math.floor(math.log10(abs(number))) if number else 0
        decimals = max(0, min(_MOST_DECIMALS, _DIGITS - 1 - size))
        text = f"{number:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{number:.{decimals}f}"
