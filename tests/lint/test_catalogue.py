"""The catalogue: one file, its page, and what real servers and our own code expose."""

import re
from pathlib import Path

import pytest

from support.linting import ids
from tritonobs import names
from tritonobs.extensions.lint.catalogue import catalogue, markdown, release
from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.formats import pages
from tritonobs.stage.series import DISTRIBUTIONS, FAMILIES

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    *sorted((ROOT / "tests" / "cli" / "transcripts").glob("page-*.prom")),
    *(ROOT / "tests" / "dashboards" / "expositions" / f"{name}.prom" for name in ("triton_gpu", "dcgm")),
]
OURS = r"(?:nv|tritonobs|DCGM_FI_DEV)_\w+"
# Of cards' reliability and reasons; dcgm-exporter has a hundred more fields than the common ones.
UNCOMMON = {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}


def test_the_page_is_made_of_the_file():
    """`tritonobs lint --catalogue` prints docs/triton-series.md."""
    assert (ROOT / "docs" / "triton-series.md").read_text(encoding="utf-8") == markdown() + "\n"


def test_the_page_of_the_checks_is_made_of_the_table():
    """`tritonobs lint --explain all` prints the end of docs/lint.md."""
    page = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")

    assert page.partition("--explain all -->\n\n")[2] == pages() + "\n"
    assert re.findall("^### (.+)$", page, re.MULTILINE) == sorted(CHECKS)


def test_every_entry_is_whole():
    """A type, when it exists, what it counts, a source, and releases that compare."""
    for one in catalogue().series.values():
        assert one.type in ("counter", "gauge", "histogram", "summary"), one.name
        assert all((one.unit, one.exists, one.counts, one.source)), one.name
        releases = (one.since, one.until, *one.label_since.values())
        assert all(release(text) for text in releases if text), one.name
        assert set(one.values) <= {*one.labels, *one.optional}, one.name


def test_what_is_meant_by_a_wrong_name_exists():
    """And the wrong name does not."""
    held = catalogue()

    assert [one.name for one in held.misnamed.values() if not held.find(one.instead)] == []
    assert [name for name in held.misnamed if held.find(name)] == []


def test_every_series_that_our_code_names_is_there():
    """Those of Triton, of dcgm-exporter and our own; those from inside models with type and labels."""
    held = catalogue()
    ours = [
        value
        for value in vars(names).values()
        if isinstance(value, str) and value.startswith(("nv_", "tritonobs_", "DCGM_"))
    ]

    assert [one for one in ours if not held.find(one)] == []
    for name, (_, labels) in FAMILIES.items():
        series = held.series[name]
        assert (series.type == "histogram") == (name in DISTRIBUTIONS), name
        assert series.labels == ("model", "version", "worker", *labels), name


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_page_of_a_server_is_as_the_catalogue_says(page):
    """Each series of a recorded page is there, with its type and with labels that are known."""
    text = page.read_text(encoding="utf-8")
    held = catalogue()
    samples = [
        (name, labels)
        for name, labels in re.findall(rf"^({OURS})(\S*) ", text, re.MULTILINE)
        if name not in UNCOMMON
    ]

    assert len(samples) > 4
    for name, kind in re.findall(rf"^# TYPE ({OURS}) (\w+)$", text, re.MULTILINE):
        assert name in UNCOMMON or held.series[name].type == kind, name
    for name, labels in samples:
        if name in UNCOMMON:
            continue
        found = held.find(name)
        assert found, name
        # dcgm-exporter adds the pod's and the card's, which are not the same everywhere.
        if found.series.group != "dcgm":
            assert set(re.findall(r"(\w+)=", labels)) <= {*found.labels, *found.series.optional}, name


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.id)
def test_the_examples_of_a_page_are_what_they_say(check):
    """The wrong expression is found where it stands alone, and the right one never."""
    if not check.right.startswith(("the same", "panel", "KEDA", "alert")):
        assert check.id not in ids(check.right, "q.promql")
    if not check.wrong.startswith(("panel", "KEDA", "alert")):
        use = check.wrong if "absent" in check.id or "never" in check.id else None
        assert check.id in ids(check.wrong if use is None else use, "q.promql")
