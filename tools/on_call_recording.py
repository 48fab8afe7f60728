"""Record docs/pictures/on-call.gif: `top`, `triage` and `stages` in a terminal while a fault lasts.

`python tools/on_call_recording.py` starts a stack of its own and types the commands into tmux; each screen
is a frame. It takes six minutes, because triage compares with the time before, and needs tmux and a quiet
machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties, findfont
from PIL import Image, ImageDraw, ImageFont
from rich.ansi import AnsiDecoder
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.color import Color

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "on-call.gif"
TRITONOBS = Path(sys.executable).with_name("tritonobs")
SESSION = f"tritonobs-recording-{os.getpid()}"
WIDTH, HEIGHT = 100, 48
"""Of the terminal, in letters."""
LETTER_SECONDS, LOOK_SECONDS, READ_SECONDS = 0.05, 0.25, 8.0
CALM_SECONDS, TROUBLE_SECONDS = 190, 60
ORDINARY, LARGE = "1280x720", "1280x720=1,4000x3000=1"

SIZE, MARGIN, LINE = 13, 10, 17
FEWEST_SECONDS = 0.05
STEPS = 12
PAPER, INK = (24, 26, 31), (212, 215, 222)


def _inks(text: str) -> list[tuple[int, int, int]]:
    """Colours written as six hexadecimal digits each."""
    parts = [bytes.fromhex(one) for one in text.split()]
    return [(red, green, blue) for red, green, blue in parts]


# Black, red, green, yellow, blue, magenta, cyan, white; then each of them bright.
DARK = _inks("282a30 e06c75 98c379 e5c07b 61afef c678dd 56b6c2 abb2bf")
BRIGHT = _inks("5c6370 f08089 acd78d f0d08f 7fc3ff da8cf1 6acad6 ffffff")
THEME = TerminalTheme(PAPER, INK, DARK, BRIGHT)


@dataclass
class Frame:
    """A screen as tmux captured it, colours as escapes, and how long it stood."""

    text: str
    seconds: float


@dataclass
class Screen:
    """A terminal, and the frames it has shown."""

    frames: list[Frame] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Type a command, letter by letter, and press Enter."""
        for letter in text:
            _tmux("send-keys", "-t", SESSION, "-l", letter)
            time.sleep(LETTER_SECONDS)
            self._look(LETTER_SECONDS)
        self._look(0.6)
        self.press("Enter")

    def press(self, key: str) -> None:
        """One key."""
        _tmux("send-keys", "-t", SESSION, key)

    def watch(self, seconds: float) -> None:
        """What happens, as it happens."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            self._look(LOOK_SECONDS)

    def until_prompt(self, seconds: float = 60.0) -> None:
        """Wait for a command to end; how long it took is shown at most one second."""
        deadline, shown = time.monotonic() + seconds, 0.0
        while time.monotonic() < deadline and self.text().rstrip().splitlines()[-1:] != ["$"]:
            time.sleep(LOOK_SECONDS)
            if shown < 1.0:
                self._look(LOOK_SECONDS)
                shown += LOOK_SECONDS
        self._look(READ_SECONDS)

    def clear(self) -> None:
        """An empty screen, not recorded."""
        _tmux("send-keys", "-t", SESSION, "-l", "clear\n")
        time.sleep(0.5)

    def text(self) -> str:
        """What it shows now, without colours."""
        return _tmux("capture-pane", "-p", "-t", SESSION)

    def _look(self, seconds: float) -> None:
        text = _tmux("capture-pane", "-p", "-e", "-t", SESSION)
        if self.frames and self.frames[-1].text == text:
            self.frames[-1].seconds += seconds
        else:
            self.frames.append(Frame(text=text, seconds=seconds))


def main() -> None:
    """Start a stack, play the scenes, write the picture, stop the stack."""
    with tempfile.TemporaryDirectory(prefix="tritonobs-recording-") as name:
        folder = Path(name)
        subprocess.run([TRITONOBS, "up", "--free-ports", "--detach"], cwd=folder, check=True)
        try:
            with _terminal(folder) as screen:
                _play(folder, screen)
        finally:
            subprocess.run([TRITONOBS, "down"], cwd=folder, check=False)
    save_animation(screen.frames)
    print(f"{PICTURE}: {len(screen.frames)} frames, {PICTURE.stat().st_size / 1e6:.2f} MB")


def _play(folder: Path, screen: Screen) -> None:
    """Ordinary traffic, then every other image a large one: seen in `top`, explained by `triage`."""
    with _load(folder, ORDINARY):
        time.sleep(CALM_SECONDS)
        screen.clear()
        screen.say("tritonobs top")
        screen.watch(6.0)
    with _load(folder, LARGE):
        screen.watch(10.0)
        screen.press("q")
        time.sleep(TROUBLE_SECONDS)
        screen.clear()
        screen.say("tritonobs triage --since 1m")
        screen.until_prompt()
        if "larger" not in screen.text():
            raise SystemExit(f"not the story to tell; try again on a quieter machine\n{screen.text()}")
        screen.clear()
        screen.say("tritonobs stages --model preprocess")
        screen.until_prompt()


@contextmanager
def _terminal(folder: Path) -> Iterator[Screen]:
    """A shell in tmux, in this folder."""
    size = ("-x", str(WIDTH), "-y", str(HEIGHT))
    shell = f"env PS1='$ ' PATH={TRITONOBS.parent}:$PATH bash --norc --noprofile"
    _tmux("new-session", "-d", "-s", SESSION, *size, "-c", str(folder), shell)
    try:
        _tmux("set-option", "-t", SESSION, "status", "off")
        time.sleep(1.0)
        yield Screen()
    finally:
        _tmux("kill-session", "-t", SESSION)


@contextmanager
def _load(folder: Path, mix: str) -> Iterator[None]:
    """Traffic in the background for as long as the block runs."""
    command = [str(TRITONOBS), "load", "--qps", "6", "--duration", "1h", "--mix", mix]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def _tmux(*arguments: str) -> str:
    return subprocess.run(["tmux", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S607 (tmux is wherever PATH has it)


def save_animation(frames: list[Frame]) -> None:
    """Write the frames as a GIF that plays for ever."""
    palette = Image.new("P", (1, 1))
    # Every ink on the paper, and the steps between the two that round letters need.
    palette.putpalette(
        [
            round(paper + (ink - paper) * step / STEPS)
            for letters in (INK, *DARK, *BRIGHT)
            for step in range(STEPS + 1)
            for paper, ink in zip(PAPER, letters, strict=True)
        ]
    )
    drawn = [picture(frame.text).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    drawn[0].save(
        PICTURE,
        save_all=True,
        append_images=drawn[1:],
        duration=[round(1000 * max(frame.seconds, FEWEST_SECONDS)) for frame in frames],
        loop=0,
        optimize=True,
        disposal=1,
    )


def picture(text: str) -> Image.Image:
    """One screen."""
    plain, bold = (
        ImageFont.truetype(findfont(FontProperties(family="DejaVu Sans Mono", weight=weight)), SIZE)
        for weight in ("normal", "bold")
    )
    step = plain.getlength("M")
    image = Image.new("RGB", (round(WIDTH * step) + 2 * MARGIN, HEIGHT * LINE + 2 * MARGIN), PAPER)
    draw = ImageDraw.Draw(image)
    console = Console(width=WIDTH * 2, color_system="truecolor", force_terminal=True)
    # A colour that goes on in the next line is not told again: one decoder for all of them.
    for row, line in enumerate(list(AnsiDecoder().decode(text))[:HEIGHT]):
        at = 0
        for segment in console.render(line, console.options.update(no_wrap=True)):
            letters = segment.text.rstrip("\n")
            style = segment.style or Style.null()
            ink, paper = _colours(style)
            place = (MARGIN + round(at * step), MARGIN + row * LINE)
            if paper != PAPER:
                draw.rectangle(
                    (place, (MARGIN + round((at + len(letters)) * step), place[1] + LINE)), fill=paper
                )
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


if __name__ == "__main__":
    main()
