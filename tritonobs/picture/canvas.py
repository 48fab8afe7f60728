"""Where panels are drawn: a rectangle of a matplotlib figure, measured in dots from the top left."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from tritonobs.errors import TritonobsError
from tritonobs.picture import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NARROW: Final = 0.6
"""Width of a letter as a share of the text's size, on average and in DejaVu Sans."""
_EXACT: Final = 64
"""Of the 256 colours of a PNG, how many are the picture's own."""
# Fonts with Chinese, for labels that DejaVu has no letters for; the first that is installed.
_WIDE_FONTS: Final = ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Zen Hei", "SimHei")


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
        across, down = self.figure.get_size_inches() * theme.DOTS_PER_INCH
        place = (
            self.left / across,
            1 - (self.top + self.height) / down,
            self.width / across,
            self.height / down,
        )
        axes = self.figure.add_axes(place, facecolor="none", **options)
        axes.spines[:].set_visible(False)
        axes.tick_params(colors=theme.FAINT, labelsize=theme.SIZE, length=0, pad=4)
        return axes

    def blank(self) -> Axes:
        """Axes without ticks, a unit a dot, from the top left."""
        axes = self.axes()
        axes.set(xlim=(0, self.width), ylim=(self.height, 0), xticks=[], yticks=[])
        return axes


def new_box(width: float, height: float, colour: str) -> Box:
    """A new figure of so many dots.

    Raises:
        TritonobsError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 (half a second, and an extra of its own)
    except ImportError as error:
        raise TritonobsError(
            "pictures need matplotlib; install it with: pip install 'tritonobs[snapshot]'"
        ) from error
    inches = (width / theme.DOTS_PER_INCH, height / theme.DOTS_PER_INCH)
    figure = Figure(figsize=inches, dpi=theme.DOTS_PER_INCH, facecolor=colour)
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
    """A third of the size; the commonest colours, grounds and frames, stay exactly what they are."""
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


def shortened(text: str, width: float, size: float = theme.SIZE) -> str:
    """The text, cut with an ellipsis where it would be wider than `width` dots."""
    most = max(int(width / (size * _NARROW * theme.DOTS_PER_INCH / 72)), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def width_of(text: str, size: float = theme.SIZE) -> float:
    """About how many dots wide the text is."""
    return len(text) * size * _NARROW * theme.DOTS_PER_INCH / 72


@lru_cache(maxsize=1)
def _fonts() -> list[str]:
    from matplotlib import font_manager  # noqa: PLC0415 (as above)

    installed = set(font_manager.get_font_names())
    # DejaVu Sans comes with matplotlib and is what `width_of` estimates.
    return ["DejaVu Sans", *(name for name in _WIDE_FONTS if name in installed)][:2]
