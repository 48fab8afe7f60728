"""How many files one more of something touches, counted by adding it to a copy of the tree.

With all of the touches the tests that ask for completeness pass; without any one of them a test fails and
names it. So the numbers are what is needed, and CONTRIBUTING.md says the same. What a command writes (golden
rules, generated boards) is not counted: a test says which command.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

import without

if TYPE_CHECKING:
    from collections.abc import Iterator

# The text that a file gets at its end, or the words before which it gets it.
_Touches: TypeAlias = "dict[str, str | tuple[str, str]]"
_CHECK: Final[_Touches] = {
    "tritonobs/extensions/triage/checks/full_moon.py": '''"""The moon is full."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.triage.check import check
from tritonobs.extensions.triage.view import View
from tritonobs.timings.cause import Cause
from tritonobs.timings.promql import Scope


def _shine(scope: Scope, seconds: float) -> str:
    return f"max (max_over_time(moon_shine{scope.around()}[{seconds:g}s]))"


@check(order=275, explains=(), follows={"slow_stage"}, asks={"moon": _shine})
def full_moon(view: View) -> Iterator[Cause]:
    """Nothing, on a healthy fleet."""
    if view.rows("moon").get((), 0.0) > 0:
        yield Cause(place=("detector", "1"), sentence="the moon is full", confidence=0.5)
''',
    "docs/checks/full_moon.md": "# full_moon\n\nThe moon is full.\n",
    "docs/checks/README.md": "| [full_moon](full_moon.md) | The moon is full. |\n",
    "tests/triage/checks/test_full_moon.py": '''"""The moon."""


def test_a_full_moon_is_found(fleet):
    """With a question of its own."""
    fleet.now.put("moon", 1.0)
    assert "full_moon" in fleet.checks()


def test_a_full_moon_follows_from_a_slow_stage(fleet):
    """The check says so itself; that of slow stages knows no moon."""
    fleet.now.put("moon", 1.0)
    fleet.now.slow(0.1, "detector", "infer")
    assert "full_moon" in [cause.check for cause in fleet.verdict().following]


def test_a_new_moon_is_no_news(fleet):
    """The silent twin."""
    assert "full_moon" not in fleet.checks()
''',
}
_CHECK_TESTS: Final = ("tests/triage/checks/test_healthy.py", "tests/triage/checks/test_full_moon.py")

_ALERT: Final[_Touches] = {
    # Expression and both texts.
    "rules/alerts/models.libsonnet": (
        "      text.alert('TritonSaturated',",
        """      text.alert('TritonFullMoon', 'info', text.owned_version(|||
        (model_version:tritonobs_workers:count > 28)
      |||), {
        summary: 'The moon is full.',
        description: say.model + ' has ' + say.number + ' workers, as many as a month has days.',
        summary_zh: '满月。',
        description_zh: say.model_zh + ' 有 ' + say.number + ' 个工作进程',
        board: on_model('model_version:tritonobs_workers:count'),
      }, wait='5m'),
""",
    ),
    "tests/rules/cases/full_moon.py": '''"""The moon."""

from support.case import Case, fires, silent
from support.simulate import World

MOON, OWNER = "TritonFullMoon", "subject:tritonobs_owner:info"
WORKERS = "model_version:tritonobs_workers:count"
OF = {"model": "moon", "version": "1"}
CASES = (
    Case(
        says="a month of workers is a full moon, a week is none",
        world=World(minutes=40).gauge(OWNER, 1, **OF).gauge(WORKERS, [(20, 7), (99, 30)], **OF),
        rules=(MOON,),
        given=(WORKERS, OWNER),
        checks=(silent(MOON, 20), fires(MOON, 30, **OF, severity="info")),
    ),
)
''',
    "docs/runbooks/TritonFullMoon.md": """# TritonFullMoon

`info` · 5 m

## Mitigation

1. Wait.

False-positive budget: 0.2 per day over a healthy fleet (`bench/false_pages.py`).

## Diagnosis

Look up.

## Impact

None.

## Meaning

More workers than days.

## 中文

### 处理

1. 等待。

误报预算 0.2

### 诊断

抬头看。

### 影响

没有。

### 含义

工作进程比一个月的天数还多。
""",
    "docs/runbooks/README.md": (
        "| [TritonCacheCollapse]",
        "| [TritonFullMoon](TritonFullMoon.md) | info | The moon is full | 满月 |\n",
    ),
    "docs/drills.md": (
        "| [TritonAcceleratorFault]",
        "| [TritonFullMoon](runbooks/TritonFullMoon.md) | the stack has no moon |\n",
    ),
}
_ALERT_TESTS: Final = (
    "tests/test_runbooks.py::test_every_alert_has_its_page_and_every_page_its_alert",
    "tests/test_runbooks.py::test_index_lists_every_alert_with_its_severity",
    "tests/lab/drill/test_registry.py::test_every_alert_has_a_drill_or_a_reason_for_none",
    "tests/rules/test_annotations.py::test_every_annotation_is_filled[TritonFullMoon]",
)

_PANEL: Final[_Touches] = {
    "dashboards/signals/accelerators.py": """

MOON = Signal(
    title="Moon",
    unit="percentunit",
    expr=f"avg(device:accelerator_utilization:ratio{_SELECTED})",
    legend="moon",
    empty=_NONE,
    description="How full the moon is. Good: when it is dark. From `device:accelerator_utilization:ratio`.",
    maximum=1,
)
""",
    "dashboards/accelerators.dashboard.py": (
        "                timeseries(accelerators.CLOCK),\n",
        "                timeseries(accelerators.MOON),\n",
    ),
}
_PANEL_TESTS: Final = (
    "tests/dashboards/test_boards.py::test_every_signal_is_on_a_board",
    "tests/dashboards/test_boards.py::test_every_panel_says_what_it_shows_and_what_good_looks_like",
    "tests/dashboards/test_boards.py::test_panels_do_not_overlap",
)
_CHAT: Final[_Touches] = {
    "tritonobs/chats/pigeon.py": '''"""Pigeons, by their documentation: a note of 900 bytes, ten a minute."""

from __future__ import annotations

from urllib.parse import SplitResult

from pydantic import Field

from tritonobs.chats.chat import (
    ByWebhook,
    Delivered,
    Digest,
    Heard,
    MentionSpec,
    Message,
    People,
    Reply,
    RobotChat,
    Verdict,
)
from tritonobs.section import MOST_ENTRIES, File


class PigeonMention(MentionSpec):
    """People whose names are called."""

    users: tuple[str, ...] = Field(default=(), max_length=MOST_ENTRIES, description="Names.")
    everyone: bool = Field(default=False, description="Call everyone.")


class PigeonSpec(Delivered, ByWebhook):
    """A pigeon loft."""

    webhook_file: File | None = Field(default=None, description="File with the address of the loft.")
    mention: tuple[PigeonMention, ...] = Field(
        default=(), max_length=MOST_ENTRIES, description="People who are called."
    )
    messages_per_minute: int = Field(default=10, ge=2, le=10, description="Pigeons a minute.")


class Pigeon(RobotChat):
    """Pigeons know no markup."""

    name = "pigeon"
    title = "the loft"
    summary = "Pigeon lofts."
    section = PigeonSpec
    most_bytes = 900
    mute_seconds = 60.0
    webhook_like = "https://loft.example.org/fly/…"

    def is_webhook(self, parts: SplitResult) -> bool:
        """It names a loft."""
        return parts.path.startswith("/fly/")

    def judge(self, heard: Heard) -> Reply:
        """By its number."""
        number, words = self.numbered(heard, "landed", "why")
        verdict = Verdict.ACCEPTED if number == 1 else Verdict.UNKNOWN
        return Reply(verdict=verdict, code=str(number), text=words)

    def mention(self, people: People) -> str:
        """Their names."""
        return " ".join(people.user_ids)

    def write(self, digest: Digest) -> Message:
        """The text."""
        return Message(title=digest.title, text=digest.text, said={"note": digest.text})


CHAT = Pigeon()
''',
    "tritonobs/extensions/lab/vendors.py": ('    "slack": SLACK,\n', '    "pigeon": WECOM,\n'),
    "docs/chats/pigeon.md": """# Pigeons

```yaml
notify:
  pigeon:
    loft: {webhook_env: LOFT}
```

## 中文

信鸽传书。每分钟最多十只。每只最多携带九百字节。信鸽不认识任何标记。
到达之后回答数字。没有到达的信鸽由下一只代替。消息不会丢失。
""",
}
# Of the chats that are here already, nothing is tried again.
_CHAT_TESTS: Final = (
    *("-k", "pigeon or every_module or has_a_double"),
    "tests/chats/test_every_chat.py",
    "tests/chats/test_answers.py::test_every_chat_has_a_double",
)

_EXPORTER: Final[_Touches] = {
    "rules/records/accelerators.libsonnet": (
        "    {\n      vendor: 'cambricon',",
        """    {
      vendor: 'lunar',
      id: 'crater',
      'utilization:ratio': [percent('moon_busy_percent')],
      'power:watts': [raw('moon_watts')],
      card: { expr: 'moon_watts', number: 'moon', host: 'node' },
    },
""",
    ),
    "tests/dashboards/expositions/lunar.prom": """\
# After the sources of moon-exporter 1.0.
# Cards: 1
# TYPE moon_busy_percent gauge
moon_busy_percent{crater="Tycho",moon="0",node="apollo"} 40
# TYPE moon_watts gauge
moon_watts{crater="Tycho",moon="0",node="apollo"} 50
""",
    "tests/rules/cases/cards.py": (
        '    (\n        "cambricon",\n        {"uuid": "E"},',
        '    ("lunar", {"crater": "G"}, {USE: {"moon_busy_percent": 50}, POWER: {"moon_watts": 50}}),\n',
    ),
    "docs/dashboards.md": ("Ascend's and Cambricon's", "Lunar's, "),
}
_EXPORTER_TESTS: Final = (
    "tests/rules/test_exporters.py",
    "tests/rules/test_cases.py",
    *("-k", "lunar or moon or (cards and (utilization or power))"),
)

_KINDS: Final = {
    "check of triage": (_CHECK, _CHECK_TESTS, 4),
    "alert": (_ALERT, _ALERT_TESTS, 5),
    "panel": (_PANEL, _PANEL_TESTS, 3),
    "chat": (_CHAT, _CHAT_TESTS, 3),
    "exporter of accelerators": (_EXPORTER, _EXPORTER_TESTS, 4),
}


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory):
    """A copy of the tree. It goes, because the last test looks for the practice stack's made-up secrets."""
    folder = tmp_path_factory.mktemp("places") / "tree"
    without.copy_tree(folder)
    yield folder
    shutil.rmtree(folder)


def _passes(tree: Path, tests: tuple[str, ...]) -> bool:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", *tests]
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tests'}"}
    done = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0


@contextmanager
def _added(tree: Path, touches: _Touches) -> Iterator[None]:
    """Make the touches; afterwards the tree is as before."""
    before: dict[Path, str | None] = {}
    for name, touch in touches.items():
        path = tree / name
        before[path] = old = path.read_text(encoding="utf-8") if path.exists() else None
        if isinstance(touch, str):
            text = (old or "") + touch
        else:
            anchor, inserted = touch
            assert old is not None
            assert old.count(anchor) == 1, anchor
            text = old.replace(anchor, inserted + anchor)
        path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        for path, old in before.items():
            if old is None:
                path.unlink()
            else:
                path.write_text(old, encoding="utf-8")


@pytest.mark.parametrize("kind", _KINDS)
def test_one_more_touches_few_files(tree, kind):
    """No more files than CONTRIBUTING.md says, and with them the tests pass."""
    touches, tests, most = _KINDS[kind]

    assert len(touches) <= most
    with _added(tree, touches):
        assert _passes(tree, tests)


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        (kind, name)
        for kind, (touches, *_) in _KINDS.items()
        for name in touches
        if not name.startswith("tests/triage")
    ],
)
def test_each_touch_is_asked_for(tree, kind, left_out):
    """Who forgets one is told."""
    touches, tests, _ = _KINDS[kind]

    with _added(tree, {name: touch for name, touch in touches.items() if name != left_out}):
        assert not _passes(tree, tests)
