"""How far the wrong expression of each check of `tritonobs lint` is from the truth, evaluated by promtool.

`--write` puts the results where the pages of the checks are made of them.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from lint_scenes import SCENES, SCRAPE_SECONDS, SCRAPES, Scene
from results import table

from tritonobs import programs
from tritonobs.extensions.lint import formats

_GRAFANA: Final = {"$__interval": f"{SCRAPE_SECONDS}s", "$__rate_interval": f"{4 * SCRAPE_SECONDS}s"}
_ANSWER = re.compile(r"^ +got: *(.*)$|^ +expr: .*, err: (.+)$", re.MULTILINE)
_SAMPLE = re.compile(r'(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}) (\S+?)(?:, |$)')
_NEAR: Final = 0.02
_DIGITS: Final = 3
_Told: TypeAlias = "float | bool | None"
"""The number in the scene's unit, whether the alert fires, or None for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an expression gave: labels as they are written, and values."""

    samples: tuple[tuple[str, float], ...]

    def value(self, scene: Scene, per: float) -> _Told:
        """What it tells about the scene, its number divided by `per`."""
        if isinstance(scene.truth, bool):
            return bool(self.samples)
        wanted = [f'{name}="{value}"' for name, value in scene.of.items()]
        found = [value for labels, value in self.samples if all(one in labels for one in wanted)]
        # A wrong expression may have lost the label that would choose.
        values = found or [value for _, value in self.samples]
        return values[0] / per if values else None


def main() -> None:
    """Measure, and print a table or write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {formats.MEASURED}")
    options = parser.parse_args()
    held = measured()
    print(
        table(["check", "wrong", "right"], [[name, one["wrong"], one["right"]] for name, one in held.items()])
    )
    if options.write:
        formats.MEASURED.write_text(json.dumps(held, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def measured() -> dict[str, dict[str, str]]:
    """For each check what happens, and what the wrong and the right expression say of it.

    Raises:
        ValueError: a right expression is more than 2 % from the truth, or a wrong one is not.
    """
    answers = evaluated([(one, text) for one in SCENES.values() for text in (one.wrong, one.right)])
    pairs = zip(SCENES.items(), zip(answers[::2], answers[1::2], strict=True), strict=True)
    held: dict[str, dict[str, str]] = {}
    for (name, scene), (wrong, right) in pairs:
        given = wrong.value(scene, scene.misread or scene.per)
        told = right.value(scene, scene.per)
        # A scaler that is told nothing keeps what it has.
        if not (is_true(told, scene) or (scene.use == "keda" and told is None)):
            raise ValueError(f"{name}: the right expression gives {told}, and the truth is {scene.truth}")
        if is_true(given, scene):
            raise ValueError(f"{name}: the wrong expression gives the truth, {scene.truth}")
        held[name] = {"happens": scene.happens, "wrong": _words(given, scene), "right": _words(told, scene)}
    return dict(sorted(held.items()))


def is_true(value: _Told, scene: Scene) -> bool:
    """Whether it is the truth of the scene, within 2 %."""
    if value is None or isinstance(scene.truth, bool):
        return value is scene.truth
    return abs(value - scene.truth) <= _NEAR * abs(scene.truth)


def _words(value: _Told, scene: Scene) -> str:
    if value is None:
        return "gives nothing" + (", so that the scaler keeps what it has" if scene.use == "keda" else "")
    if isinstance(value, bool):
        return "fires" if value else "is silent"
    unit = scene.unit if scene.unit == "%" else f" {scene.unit}"
    if math.isinf(value):
        return "gives +Inf" if value > 0 else "gives -Inf"
    digits = _DIGITS - 1 - math.floor(math.log10(abs(value))) if value else 0
    rounded = f"{round(value, digits):,.{max(digits, 0)}f}"
    return f"gives {rounded.rstrip('0').rstrip('.') if '.' in rounded else rounded}{unit}"


def evaluated(questions: Sequence[tuple[Scene, str]]) -> list[Answer]:
    """What promtool gives for each expression in its world, soon after the last scrape.

    Raises:
        ValueError: promtool did not answer all of them.
    """
    tests = [_test(scene, query) for scene, query in questions]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.yml"
        path.write_text(json.dumps({"rule_files": [], "tests": tests}), encoding="utf-8")
        done = subprocess.run(
            [str(programs.find("promtool")), "test", "rules", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
    found = _ANSWER.findall(done.stdout + done.stderr)
    if len(found) != len(questions):
        raise ValueError(f"promtool answered {len(found)} of {len(questions)}:\n{done.stdout}{done.stderr}")
    return [
        Answer(samples=tuple((labels, float(value)) for labels, value in _SAMPLE.findall(answer)))
        for answer, _ in found
    ]


def _test(scene: Scene, query: str) -> dict[str, object]:
    for name, window in _GRAFANA.items():
        query = query.replace(name, window)
    # What no expression gives, so that promtool always says what it got.
    never = [{"labels": '{never="expected"}', "value": 1}]
    return {
        "interval": f"{SCRAPE_SECONDS}s",
        "input_series": [{"series": name, "values": values} for name, values in scene.series.items()],
        "promql_expr_test": [
            {"expr": query, "eval_time": f"{SCRAPE_SECONDS * SCRAPES + 5}s", "exp_samples": never}
        ],
    }


if __name__ == "__main__":
    main()
