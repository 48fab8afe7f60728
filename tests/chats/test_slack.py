"""Slack's two ways: Alertmanager's own, as before, and `serve`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tritonobs.chats.chat import Digest, Link, pieces
from tritonobs.chats.slack import CHAT
from tritonobs.plan.build import build_plan
from tritonobs.render.alertmanager import receivers
from tritonobs.spec.load import read_text

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\nmodels: {inspect: {}}\n'


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        pytest.param("webhook_file: x, failover: [b]", "failover: needs via: serve", id="a field of robots"),
        pytest.param("webhook_env: X", "webhook_env: needs via: serve", id="Alertmanager reads files"),
        pytest.param(
            "via: serve, webhook_file: x, channel: '#a'", "channel: a webhook has its channel", id="a channel"
        ),
        pytest.param("via: serve", "webhook_file and webhook_env: write exactly one", id="no webhook"),
        pytest.param(
            "via: serve, webhook_file: x, mention: [{users: ['!channel>']}]", "found", id="markup as a name"
        ),
    ],
)
def test_a_field_of_the_other_way_is_a_finding(entry: str, complaint: str) -> None:
    """Each says which way it is for."""
    (found,) = read_text(f"{HEAD}notify: {{slack: {{a: {{{entry}}}}}}}\n", "fleet.yaml").findings

    assert complaint in found.message


def test_both_ways_stand_side_by_side(tmp_path: Path) -> None:
    """In one receiver: `slack_configs` of Alertmanager's, a webhook of serve for the robot."""
    entries = "{vision: {webhook_file: x}, oncall: {via: serve, webhook_file: y}}"
    reading = read_text(f"{HEAD}notify: {{slack: {entries}}}\n", "fleet.yaml")
    (both,) = [
        one
        for one in receivers(build_plan(reading.spec, tmp_path))
        if one["name"] == "slack/oncall + slack/vision"
    ]

    assert [one["api_url_file"] for one in both["slack_configs"]] == [str(tmp_path / "x")]
    assert both["webhook_configs"][0]["url"].endswith("/alertmanager/slack/oncall")


def test_a_long_text_is_cut_at_lines_into_sections() -> None:
    """Of at most 3,000 characters; only a line that is longer is cut within."""
    text = "\n".join(f"line {at} " + "x" * 90 for at in range(80)) + "\n" + "y" * 7_000

    blocks = CHAT.write(
        Digest(title="t" * 400, text=text, links=(Link(word="board", url="http://g/d"),))
    ).said["blocks"]

    sections = [block["text"]["text"] for block in blocks if block["type"] == "section"]
    assert all(len(section) <= 3_000 for section in sections)
    assert "".join(sections).replace("\n", "") == text.replace("\n", "")
    assert all(section.startswith(("line ", "y")) for section in sections)
    assert len(blocks[0]["text"]["text"]) == 150
    assert blocks[-1]["elements"][0]["url"] == "http://g/d"


@pytest.mark.parametrize("text", ["", "\n\n", "a", "a\n\nb"])
def test_no_piece_is_empty(text: str) -> None:
    """Slack refuses an empty section."""
    assert [piece for piece in pieces(text, 10) if not piece.strip()] == []
