"""What a terminal showed, as an animated GIF: letters, colours and bold, one picture per change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties, findfont
from PIL import Image, ImageDraw, ImageFont
from rich.ansi import AnsiDecoder
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.color import Color

SIZE, MARGIN, LINE = 13, 10, 17
FEWEST_SECONDS = 0.05
STEPS = 12
PAPER, INK = (24, 26, 31), (212, 215, 222)
# Black, red, green, yellow, blue, magenta, cyan, white; then each of them bright.
DARK = "282a30 e06c75 98c379 e5c07b 61afef c678dd 56b6c2 abb2bf"
BRIGHT = "5c6370 f08089 acd78d f0d08f 7fc3ff da8cf1 6acad6 ffffff"


def _theme() -> TerminalTheme:
    dark, bright = ([tuple(bytes.fromhex(word)) for word in words.split()] for words in (DARK, BRIGHT))
    return TerminalTheme(PAPER, INK, dark, bright)


THEME = _theme()


@dataclass
class Frame:
    """A screen as tmux captured it, colours as escapes, and how long it stood."""

    text: str
    seconds: float


def save_animation(frames: Sequence[Frame], path: Path, *, width: int, height: int) -> None:
    """Write the frames as a GIF that plays for ever; its size is that of a terminal of so many letters."""
    pictures = [picture(frame.text, width=width, height=height) for frame in frames]
    palette = _palette()
    drawn = [shown.quantize(palette=palette, dither=Image.Dither.NONE) for shown in pictures]
    drawn[0].save(
        path,
        save_all=True,
        append_images=drawn[1:],
        duration=[round(1000 * max(frame.seconds, FEWEST_SECONDS)) for frame in frames],
        loop=0,
        optimize=True,
        disposal=1,
    )


def _palette() -> Image.Image:
    """Every ink on the paper, and the steps between the two that round letters need."""
    inks = [INK, *(tuple(bytes.fromhex(word)) for word in (*DARK.split(), *BRIGHT.split()))]
    mixed = [
        round(paper + (ink - paper) * step / STEPS)
        for letters in inks
        for step in range(STEPS + 1)
        for paper, ink in zip(PAPER, letters, strict=True)
    ]
    palette = Image.new("P", (1, 1))
    palette.putpalette(mixed)
    return palette


def picture(text: str, *, width: int, height: int) -> Image.Image:
    """One screen."""
    plain, bold = (
        ImageFont.truetype(findfont(FontProperties(family="DejaVu Sans Mono", weight=weight)), SIZE)
        for weight in ("normal", "bold")
    )
    step = plain.getlength("M")
    whole = (round(width * step) + 2 * MARGIN, height * LINE + 2 * MARGIN)
    image = Image.new("RGB", whole, PAPER)
    draw = ImageDraw.Draw(image)
    console = Console(width=width * 2, color_system="truecolor", force_terminal=True)
    # A colour that goes on in the next line is not told again: one decoder for all of them.
    for row, line in enumerate(list(AnsiDecoder().decode(text))[:height]):
        at = 0
        for segment in console.render(line, console.options.update(no_wrap=True)):
            letters = segment.text.rstrip("\n")
            style = segment.style or Style.null()
            ink, paper = _colours(style)
            place = (MARGIN + round(at * step), MARGIN + row * LINE)
            if paper != PAPER:
                end = (MARGIN + round((at + len(letters)) * step), place[1] + LINE)
                draw.rectangle((place, end), fill=paper)
            draw.text(place, letters, font=bold if style.bold else plain, fill=ink)
            at += len(letters)
    return image


def _colours(style: Style) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ink and paper; dim is half way to the paper, reverse is the other way round."""
    ink, paper = _rgb(style.color, foreground=True), _rgb(style.bgcolor, foreground=False)
    if style.dim:
        ink = tuple((one + other) // 2 for one, other in zip(ink, paper, strict=True))
    return (paper, ink) if style.reverse else (ink, paper)


def _rgb(colour: Color | None, *, foreground: bool) -> tuple[int, ...]:
    if colour is None or colour.is_default:
        return INK if foreground else PAPER
    return tuple(colour.downgrade(ColorSystem.TRUECOLOR).get_truecolor(THEME, foreground=foreground))
