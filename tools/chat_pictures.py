"""Draw docs/pictures/message-CHAT.png: a message of each chat, in a page of ours made from its JSON.

The vendors' own applications draw it otherwise. `python tools/chat_pictures.py` needs Chromium.
"""

from __future__ import annotations

import html
import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from playwright.sync_api import sync_playwright

from tritonobs.chats.registry import robot_chat, robot_chats
from tritonobs.delivery.composer import Composer, Said
from tritonobs.delivery.payload import Alert
from tritonobs.plan.build import build_plan
from tritonobs.plan.notify import Robot, SecretSource
from tritonobs.spec.load import load_fleet

ROOT = Path(__file__).parent.parent
_WIDTH = 460
_STYLE = """
body { margin: 0; padding: 16px; background: #ebedf0; font: 15px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; }
.card { background: #fff; border-radius: 8px; overflow: hidden; color: #1f2329; padding-bottom: 10px; }
.head { padding: 8px 14px; font-weight: 600; color: #fff; } .head.dark { color: #1f2329; }
.text { padding: 2px 14px; overflow-wrap: anywhere; } p, h4 { margin: 8px 0; }
a { color: #1677ff; text-decoration: none; }
.buttons { padding: 4px 14px; }
.buttons a { display: inline-block; border: 1px solid #c9cdd4; border-radius: 6px;
padding: 2px 12px; margin: 2px 6px 2px 0; color: #1f2329; }
.dot { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 50%; background: #e5484d; }
.tick { color: #2ea043; font-weight: 700; }
blockquote { margin: 8px 0; padding-left: 10px; border-left: 3px solid
#d0d3d8; color: #4b5563; }
"""
_COLOURS = {
    "red": "#d83931",
    "orange": "#de7802",
    "blue": "#245bdb",
    "green": "#2ea121",
    "Attention": "#c4314b",
}
_NOW = datetime(2026, 3, 1, 12, 5, tzinfo=timezone.utc)


def message(chat: str) -> dict[str, Any]:
    """The JSON of a message with a page that fires and one that is over."""
    labels = {"alertname": "TritonQpsAboveLimit", "severity": "critical", "model": "inspect", "version": "1"}
    alerts = [
        {
            "status": "firing",
            "labels": labels,
            "annotations": {
                "description": "inspect receives 12.4 requests/s; its limit is 8.",
                "dashboard_url": "http://grafana.example.org/d/tritonobs-model",
                "runbook_url": "http://tritonobs.example.org/runbooks/TritonQpsAboveLimit",
            },
            "startsAt": "2026-03-01T12:02:00Z",
        },
        {
            "status": "resolved",
            "labels": {**labels, "model": "detector", "severity": "warning"},
            "startsAt": "2026-03-01T11:40:00Z",
            "endsAt": "2026-03-01T12:04:10Z",
        },
    ]
    plan = build_plan(load_fleet(ROOT / "examples" / "fleet.yaml"), ROOT)
    composer = Composer(plan=plan, templates={}, now=lambda: _NOW)
    above = Said(
        "inspect receives 12.4 requests/s; its limit is 8",
        "incident",
        "http://tritonobs.example.org/incidents/1",
    )
    robot = Robot(chat=chat, name="oncall", webhook=SecretSource(env="WEBHOOK"))
    shares = {("", "inspect", "1"): "detector 61%, queue 22%"}
    (page, *_) = composer.write(
        [Alert.model_validate(one) for one in alerts], shares, robot, robot_chat(chat).most_bytes, (above,)
    )
    said: dict[str, Any] = json.loads(page.message.body())
    return said


def _feishu(said: dict[str, Any]) -> str:
    head = said["card"]["header"]
    parts = [_head(head["title"]["content"], _COLOURS[head["template"]])]
    for one in said["card"]["elements"]:
        if one["tag"] == "markdown":
            parts.append(_markdown(one["content"].replace("\n", "  \n")))
        else:
            parts.append(_buttons([button["text"]["content"] for button in one["actions"]]))
    return "".join(parts)


def _wecom(said: dict[str, Any]) -> str:
    return _markdown(said[said["msgtype"]]["content"].replace("\n", "  \n"))


def _slack(said: dict[str, Any]) -> str:
    parts = []
    for block in said["blocks"]:
        if block["type"] == "header":
            parts.append(_head(block["text"]["text"], ""))
        elif block["type"] == "section":
            text = re.sub(r"<([^|>]+)\|([^>]+)>", r"[\2](\1)", block["text"]["text"])
            parts.append(_markdown(re.sub(r"\*([^*\n]+)\*", r"**\1**", text).replace("\n", "  \n")))
        else:
            parts.append(_buttons([button["text"]["text"] for button in block["elements"]]))
    return "".join(parts)


def _teams(said: dict[str, Any]) -> str:
    card = said["attachments"][0]["content"]
    first, *rest = card["body"]
    colour = _COLOURS.get(first["color"], "#1f2329")
    parts = [f'<div style="color:{colour};font-size:17px">{_markdown(first["text"])}</div>']
    parts += [_markdown(block["text"]) for block in rest]
    return "".join(parts) + _buttons([action["title"] for action in card["actions"]])


def _head(text: str, colour: str) -> str:
    style = f'class="head" style="background:{colour}"' if colour else 'class="head dark"'
    return f"<div {style}>{html.escape(text)}</div>"


def _markdown(text: str) -> str:
    return f'<div class="text">{MarkdownIt().render(text)}</div>'


def _buttons(words: list[str]) -> str:
    return f'<div class="buttons">{"".join(f"<a>{html.escape(word)}</a>" for word in words)}</div>'


DRAWN = {"feishu": _feishu, "wecom": _wecom, "slack": _slack, "teams": _teams}


def main() -> None:
    """Draw those that have a drawing here."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": 100}, device_scale_factor=1.5)
        for chat in (one.name for one in robot_chats() if one.name in DRAWN):
            shown = DRAWN[chat](message(chat))
            # Machines without a font for these draw them alike.
            shown = shown.replace("🔴", '<i class="dot"></i>').replace("✅", '<b class="tick">✓</b>')
            page.set_content(f'<style>{_STYLE}</style><div class="card">{shown}</div>')
            page.locator("body").screenshot(path=ROOT / "docs" / "pictures" / f"message-{chat}.png")
        browser.close()


if __name__ == "__main__":
    main()
