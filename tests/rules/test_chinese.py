"""Every alert says in Chinese what it says in English, where a robot's language asks for it."""

from __future__ import annotations

import re

from tritonobs import names
from tritonobs.render.rules import evaluate_mixin


def _alerts(*, chinese: bool, **knobs: str) -> dict[str, dict[str, str]]:
    every = ({"tier": "global"}, {"agentsSelector": f'job="{names.AGENTS_JOB}"'})
    return {
        rule["alert"]: rule["annotations"]
        for one in every
        for file in evaluate_mixin({"chinese": chinese, **one, **knobs}).values()
        for group in file["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }


def test_every_alert_has_a_chinese_summary_and_description() -> None:
    """None is left out, and none is English in disguise."""
    alerts = _alerts(chinese=True)

    told = {
        name: [re.search(r"[\u4e00-\u9fff]", texts.get(key, "")) for key in ("summary_zh", "description_zh")]
        for name, texts in alerts.items()
    }
    assert [name for name, found in told.items() if not all(found)] == []


def test_chinese_texts_have_chinese_punctuation() -> None:
    """Outside of templates and code no half-width comma, colon or full stop follows a Chinese word."""
    wrong = [
        (name, found)
        for name, texts in _alerts(chinese=True).items()
        for key in ("summary_zh", "description_zh")
        for found in re.findall(
            r".{0,6}[\u4e00-\u9fff](?:[,;:?!()]|[.](?![a-z])).{0,6}",
            re.sub(r"\{\{.*?\}\}|`[^`]*`", "", texts.get(key, "")),
        )
    ]

    assert wrong == []


def test_templates_are_the_same_values_in_both_languages() -> None:
    """A Chinese text shows the value where the English one does."""
    for name, texts in _alerts(chinese=True).items():
        english, chinese = ("$value" in texts[key] for key in ("description", "description_zh"))
        assert english == chinese, name


def test_labels_are_the_same_in_both_languages() -> None:
    """A Chinese text names what the English one names: a server or cluster by any label."""
    for name, texts in _alerts(chinese=True, replicaLabel="server", clusterLabel="zone").items():
        english, chinese = (
            set(re.findall(r"\$labels[.](\w+)", texts["summary" + ending] + texts["description" + ending]))
            for ending in ("", "_zh")
        )
        assert english == chinese, name
        assert not chinese & {"replica", "cluster"}, name


def test_nobody_reads_chinese_who_did_not_ask_for_it() -> None:
    """Rules of an English fleet stay as short as they were."""
    assert not any("summary_zh" in texts for texts in _alerts(chinese=False).values())
