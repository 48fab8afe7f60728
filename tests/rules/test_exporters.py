"""Every exporter of accelerators has its page, its case and its line in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import promql_parser
import pytest

from support import rule_cases
from support.promql import selectors
from tritonobs.render.rules import evaluate_mixin

ROOT = Path(__file__).parents[2]
PAGES = {
    path.stem: path.read_text() for path in (ROOT / "tests" / "dashboards" / "expositions").glob("*.prom")
}
# Not on a page: an older name, and series of cards that no page shows.
OTHERS = {
    *("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
    *("npu_chip_info_used_memory", "npu_chip_info_total_memory"),
}


EXPRESSIONS = [
    rule["expr"]
    for group in evaluate_mixin({})["records"]["groups"]
    for rule in group["rules"]
    if group["name"] == "tritonobs.accelerators"
]
SERIES = sorted({one.name for text in EXPRESSIONS for one in selectors(promql_parser.parse(text))})
VENDORS = sorted(
    {vendor for text in EXPRESSIONS for vendor in re.findall(r'"vendor", "(\w+)", "", ""', text)}
)


@pytest.mark.parametrize("name", sorted(set(SERIES) - OTHERS))
def test_every_series_of_an_exporter_stands_on_its_page(name):
    """tests/dashboards/expositions has a page for each, which the boards are tried on."""
    assert [page for page, text in PAGES.items() if re.search(rf"^{name}{{", text, re.MULTILINE)] != []


@pytest.mark.parametrize("page", PAGES)
def test_every_page_names_its_sources_and_is_read(page):
    """The first line names the sources, the second counts its cards; records read the page."""
    first, second, rest = PAGES[page].split("\n", 2)

    assert first.startswith("# After ")
    assert re.fullmatch("# Cards: [1-9]", second)
    assert [name for name in SERIES if f"\n{name}{{" in rest] != []


@pytest.mark.parametrize("name", SERIES)
def test_every_series_of_an_exporter_has_a_case(name):
    """Some case of tests/rules/cases gives it to the rules, and says what they make of it."""
    cases = [case for cases in rule_cases.load_cases().values() for case in cases]
    given = {series.partition("{")[0] for case in cases for series in case.world.series}

    assert name in given


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_page_of_the_boards_names_every_vendor(vendor):
    """docs/dashboards.md says whose cards the board shows."""
    page = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")

    assert vendor in page.split("## Accelerators")[1].split("\n## ")[0].lower()
