"""Draw docs/pictures/message.png: the first message in docs/demo.md, which is the output of a run.

`python tools/message_picture.py` needs Chromium.
"""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
_WIDTH = 420
_STYLE = """
body { margin: 0; padding: 16px; background: #ebedf0; font: 15px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; }
.who { color: #6b7280; font-size: 12px; margin: 0 0 4px 2px; }
.said { background: #fff; border-radius: 4px 12px 12px 12px; padding: 4px 14px 8px; color: #1f2329; }
h4 { margin: 8px 0; font-size: 16px; }
p { margin: 8px 0; }
a { color: #1677ff; text-decoration: none; }
.dot { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 50%; background: #e5484d; }
blockquote { margin: 8px 0; padding-left: 10px; border-left: 3px solid #d0d3d8; color: #4b5563; }
"""


def message(page: str) -> str:
    """The Markdown of the first message in the page. Its links are words there: their addresses are local."""
    block = page[page.index("the message, ") :].partition("\n\n")[0]
    lines = [line.partition("│")[2].strip() for line in block.splitlines()[1:]]
    text = "\n".join(line + ("  " if line else "") for line in lines).replace("\u02cb", "`")
    return re.sub(r"(?<= · )(board|runbook|silence|incident)\b", r"[\1](#)", text)


def main() -> None:
    """Draw it."""
    said = MarkdownIt().render(message((ROOT / "docs" / "demo.md").read_text(encoding="utf-8")))
    said = said.replace("🔴", '<i class="dot"></i>')  # Machines without a font for it draw it alike.
    html = f'<style>{_STYLE}</style><p class="who">oncall · robot</p><div class="said">{said}</div>'
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": 100}, device_scale_factor=1.5)
        page.set_content(html)
        page.locator("body").screenshot(path=ROOT / "docs" / "pictures" / "message.png")
        browser.close()


if __name__ == "__main__":
    main()
