"""What messages say, in English and Chinese."""
# ruff: noqa: RUF001 (Chinese has punctuation of its own)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language's words; `{}` is filled in where a phrase has it."""

    firing: str
    resolved: str
    severities: Mapping[str, str]
    version: str
    stage: str
    since: str
    lasted: str
    board: str
    runbook: str
    silence: str
    evidence: str
    unshown: str


LANGUAGES: Final[Mapping[str, Words]] = {
    "en": Words(
        firing="{} firing",
        resolved="{} resolved",
        severities={"critical": "critical", "warning": "warning", "info": "info"},
        version="version {}",
        stage="stage {}",
        since="since {} ({})",
        lasted="{} to {} ({})",
        board="board",
        runbook="runbook",
        silence="silence",
        evidence="Time goes to: {}",
        unshown="(This alert is damaged and cannot be shown in full.)",
    ),
    "zh": Words(
        firing="{} 条告警中",
        resolved="{} 条已恢复",
        severities={"critical": "严重", "warning": "警告", "info": "提示"},
        version="版本 {}",
        stage="阶段 {}",
        since="自 {} 起（{}）",
        lasted="{} 至 {}（{}）",
        board="看板",
        runbook="处置手册",
        silence="静默",
        evidence="耗时分布：{}",
        unshown="（该告警数据已损坏，无法完整显示。）",
    ),
}
