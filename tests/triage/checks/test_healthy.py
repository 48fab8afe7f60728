"""The twin of every test here: a healthy fleet, in which every check stays silent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tritonobs.extensions.triage import checks
from tritonobs.extensions.triage.checks import CHECKS

if TYPE_CHECKING:
    from conftest import Fleet


def test_a_healthy_fleet_gives_no_cause(fleet: Fleet) -> None:
    """Nothing changed, nothing is found."""
    verdict = fleet.verdict()

    assert (verdict.status, verdict.causes, verdict.following) == ("healthy", (), ())
    assert verdict.sentence == "no problems found in the fleet: 4 model versions are as in the baseline"


def test_small_changes_are_no_news(fleet: Fleet) -> None:
    """Ten per cent more of everything is a Tuesday."""
    for model in ("inspect", "preprocess", "detector", "nms"):
        fleet.now.model(model, rate=11.0, queue=0.0011)
    fleet.now.size("preprocess", "decode", "megapixels", 1.1)

    assert fleet.verdict().status == "healthy"


def test_every_check_is_a_function_a_page_and_an_id() -> None:
    """One word for code, documentation and screen; every file has checks."""
    folder = Path(checks.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    pages = {path.stem for path in (folder.parents[3] / "docs" / "checks").glob("*.md")} - {"README"}

    assert set(CHECKS) - pages == set(), "write docs/checks/NAME.md"
    assert pages - set(CHECKS) == set(), "pages without a check"
    assert len({check.order for check in CHECKS.values()}) == len(CHECKS), "two checks have the same order"
    assert {check.judge.__module__.rpartition(".")[2] for check in CHECKS.values()} == files
    for name, check in CHECKS.items():
        assert check.judge.__name__ == name
        page = (folder.parents[3] / "docs" / "checks" / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {name}\n")
    overview = (folder.parents[3] / "docs" / "checks" / "README.md").read_text(encoding="utf-8")
    rowless = {row for row in CHECKS if f"\n| [{row}]({row}.md) | " not in overview}
    assert rowless == set(), "write a row in docs/checks/README.md"


def test_explanations_are_between_checks_and_without_circles() -> None:
    """What follows from a cause never explains it back."""
    assert {effect for check in CHECKS.values() for effect in check.explains} <= set(CHECKS)

    def reached(check: str, way: tuple[str, ...]) -> None:
        assert check not in way, f"a circle of `explains` and `follows`: {' > '.join((*way, check))}"
        for effect in CHECKS[check].explains:
            reached(effect, (*way, check))

    for check in CHECKS:
        reached(check, ())


@pytest.mark.parametrize(
    ("window", "said"),
    [
        pytest.param("before", "in the baseline, so there is nothing to compare with", id="a new fleet"),
        pytest.param("now", "in this window", id="a fleet nobody asks"),
    ],
)
def test_a_window_without_requests_is_no_health(fleet: Fleet, window: str, said: str) -> None:
    """There is nothing to compare, or nothing to compare with."""
    answers = getattr(fleet, window).answers
    for question in [name for name in answers if name not in {"up", "limits", "calls", "loaded", "cpu"}]:
        del answers[question]
    if window == "now":
        fleet.now.put("requests", 0.0, model="inspect", version="1")
    verdict = fleet.verdict()

    assert verdict.status != "healthy"
    if verdict.status == "blind":
        assert verdict.sentence == f"no requests to the fleet were seen {said}"
