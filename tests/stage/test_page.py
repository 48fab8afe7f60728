"""What docs/instrument.md and README.md tell authors to write is run as it stands there."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from tritonobs.testing import FakePbUtils

ROOT = Path(__file__).parents[2]
SERVED = "def decode(request): return request\ndef infer(image): return image\n"


def _blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def _code(page, word):
    (found,) = [block for block in _blocks(page) if word in block]
    return found


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """What the model on top of the page imports; the model can be imported as `model`."""
    pb_utils = FakePbUtils()
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", pb_utils)
    monkeypatch.setenv("TRITONOBS_SCRAPE_INTERVAL_SECONDS", "0")
    (tmp_path / "model.py").write_text(SERVED + _code("docs/instrument.md", "# 5"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield pb_utils
    sys.modules.pop("model", None)


def test_five_lines_count_what_the_page_says(fake):
    """One observation of `total` and one outcome a request, and the stages of each."""
    served = importlib.import_module("model").TritonPythonModel()
    served.initialize({**FakePbUtils.ARGS, "model_name": "detector"})
    assert served.execute(["a", "b", "c"]) == ["a", "b", "c"]

    page = fake.snapshot()
    assert page.total("tritonobs_requests_total", outcome="ok", model="detector") == 3
    for stage in ("total", "decode", "infer"):
        assert page.total("tritonobs_stage_duration_seconds_count", stage=stage) == 3
    served.finalize()
    assert fake.crashes == []


def test_the_test_of_a_model_on_the_page_passes(fake, monkeypatch):
    """The one that authors copy."""
    scope = {}
    exec(_code("docs/instrument.md", "def test_a_request"), scope)  # noqa: S102 (our own page)

    scope["test_a_request_is_counted"](monkeypatch)


def test_the_model_in_the_readme_is_the_same(fake):
    """It loads, serves and ends."""
    scope = {"pb_utils": fake, "responses": ["a"]}
    exec(_code("README.md", "TritonPythonModel"), scope)  # noqa: S102 (our own page)
    served = scope["TritonPythonModel"]()
    served.initialize(FakePbUtils.ARGS)

    assert served.execute(["a"]) == ["a"]
    assert fake.snapshot().total("tritonobs_requests_total", outcome="ok") == 1
    served.finalize()
