"""Record a terminal as an animated GIF: a stack of its own, commands typed into tmux, its screens as frames.

python tools/record_screen.py [docs/pictures/on-call.gif] [--width 100] [--height 36]

Needs tmux and what `pip install 'tritonobs[snapshot,stack]'` brings. Takes six minutes: triage compares with
before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from screen_picture import Frame, save_animation

from tritonobs.stack import local
from tritonobs.stack.services import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tritonobs.stack.local import Running

ROOT = Path(__file__).parents[1]
TRITONOBS = Path(sys.executable).with_name("tritonobs")
SESSION = f"tritonobs-record-{os.getpid()}"
LETTER_SECONDS, LOOK_SECONDS, READ_SECONDS = 0.05, 0.25, 8.0
CALM_SECONDS, TROUBLE_SECONDS = 190, 60


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
        _tmux("send-keys", "-t", SESSION, "Enter")

    def press(self, key: str) -> None:
        """One key, without Enter."""
        _tmux("send-keys", "-t", SESSION, key)

    def watch(self, seconds: float) -> None:
        """What happens, as it happens."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            self._look(LOOK_SECONDS)

    def until_prompt(self, seconds: float = 30.0) -> None:
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

    def _look(self, seconds: float) -> None:
        text = _tmux("capture-pane", "-p", "-e", "-t", SESSION)
        if self.frames and self.frames[-1].text == text:
            self.frames[-1].seconds += seconds
        else:
            self.frames.append(Frame(text=text, seconds=seconds))

    def text(self) -> str:
        """What it shows now, without colours."""
        return _tmux("capture-pane", "-p", "-t", SESSION)


def main() -> None:
    """Start a stack, play the scenes, write the picture, stop the stack."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("picture", nargs="?", type=Path, default=ROOT / "docs" / "pictures" / "on-call.gif")
    options.add_argument("--width", type=int, default=100)
    options.add_argument("--height", type=int, default=36)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stack = local.start(None, Folders(root=Path(folder)), print, robot_double=True, move_ports=True)
        try:
            with _terminal(stack, chosen.width, chosen.height) as screen:
                _play(stack, screen)
        finally:
            local.stop(stack)
    save_animation(screen.frames, chosen.picture, width=chosen.width, height=chosen.height)
    print(f"{chosen.picture}: {len(screen.frames)} frames, {chosen.picture.stat().st_size / 1e6:.2f} MB")


@contextmanager
def _terminal(stack: Running, width: int, height: int) -> Iterator[Screen]:
    """A shell in tmux, in the folder of the stack's fleet file."""
    places = f"PATH={TRITONOBS.parent}:$PATH TRITONOBS_PROMETHEUS={stack.plan.addresses.prometheus_url}"
    size, folder = ("-x", str(width), "-y", str(height)), str(stack.fleet_file.parent)
    shell = f"env PS1='$ ' {places} bash --norc --noprofile"
    _tmux("new-session", "-d", "-s", SESSION, *size, "-c", folder, shell)
    try:
        _tmux("set-option", "-t", SESSION, "status", "off")
        time.sleep(1.0)
        yield Screen()
    finally:
        _tmux("kill-session", "-t", SESSION)


def _play(stack: Running, screen: Screen) -> None:
    """Ordinary traffic, then every other image a large one: seen in `top`, explained by `triage`."""
    with _load(stack):
        time.sleep(CALM_SECONDS)
        screen.clear()
        screen.say("tritonobs top fleet.yaml")
        screen.watch(6.0)
    with _load(stack, "--mix", "1280x720=1,4000x3000=1"):
        screen.watch(10.0)
        screen.press("q")
        time.sleep(TROUBLE_SECONDS)
        screen.clear()
        screen.say("tritonobs triage fleet.yaml --since 1m")
        screen.until_prompt()
        if "larger inputs" not in screen.text():
            raise SystemExit(f"not the story to tell; try again on a quieter machine\n{screen.text()}")
        screen.clear()
        screen.say("tritonobs stages --model preprocess")
        screen.until_prompt()


@contextmanager
def _load(stack: Running, *arguments: str) -> Iterator[None]:
    """Traffic in the background for as long as the block runs."""
    url = stack.plan.replicas[0].http_url
    command = [str(TRITONOBS), "load", "--url", url, "--qps", "6", "--duration", "1h", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def _tmux(*arguments: str) -> str:
    done = subprocess.run(["tmux", *arguments], check=True, capture_output=True, text=True)  # noqa: S607 (tmux is wherever PATH has it)
    return done.stdout


if __name__ == "__main__":
    main()
