"""Draw docs/pictures/incident.png: the page of the demo's incident, as a telephone shows it.

`python tools/incident_picture.py` runs the demo, which takes about four minutes, and needs Chromium.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
_WIDTH, _HEIGHT = 420, 1080
_PAGE = re.compile(r"\[incident\]\((http://[^)]+)\)")
_DRAWN_SECONDS = 30


def main() -> None:
    """Draw it."""
    tritonobs = [sys.executable, "-m", "tritonobs"]
    with tempfile.TemporaryDirectory(prefix="tritonobs-picture-") as state:
        try:
            ran = subprocess.run(
                [*tritonobs, "demo", "--keep", "--state", state], capture_output=True, text=True, check=True
            )
            found = _PAGE.search(ran.stdout)
            if found is None:
                sys.exit(f"the demo sent no message with an incident:\n{ran.stdout}")
            shoot(found[1])
        finally:
            subprocess.run([*tritonobs, "down", "--state", state], check=False)


def shoot(url: str) -> None:
    """Open the page, wait for its pictures, and keep what a telephone shows without much scrolling."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": _WIDTH, "height": _HEIGHT}, device_scale_factor=1.5, color_scheme="light"
        )
        page.goto(url)
        # It loads itself again until they are drawn.
        page.wait_for_selector("figure img", timeout=_DRAWN_SECONDS * 1000)
        page.screenshot(path=ROOT / "docs" / "pictures" / "incident.png")
        browser.close()


if __name__ == "__main__":
    main()
