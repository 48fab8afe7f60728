"""Whatever a fleet file holds, `validate` answers with findings: soon, and without a traceback."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.cost import cost_of
from support.hostile import FILES

if TYPE_CHECKING:
    from pathlib import Path

# Five seconds on a machine of its own; a shared one charges more for the same work.
MOST_CPU_SECONDS, MOST_MEGABYTES, MOST_SAID = 10.0, 300.0, 200_000


@pytest.mark.parametrize("name", FILES)
def test_validate_answers_soon_and_in_little_memory(name: str, tmp_path: Path) -> None:
    """Megabytes of anything, numbers of any size, special files: findings, none of them endless."""
    os.mkfifo(tmp_path / "FIFO")
    (tmp_path / "fleet.yaml").write_bytes(FILES[name].encode("utf-8", "surrogatepass"))

    cost = cost_of("validate", "fleet.yaml", folder=tmp_path)

    assert cost.status in {0, 1}, cost.said[-2000:]
    assert "Traceback" not in cost.said
    assert cost.cpu_seconds < MOST_CPU_SECONDS
    assert cost.peak_megabytes < MOST_MEGABYTES
    assert len(cost.said) < MOST_SAID


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("FIFO", "FIFO: is a pipe; allowed is a regular file", id="a pipe"),
        pytest.param("/dev/zero", "/dev/zero: is a device; allowed is a regular file", id="a device"),
        pytest.param(
            "/proc/self/pagemap",
            "pagemap: has more than 4194304 bytes, the most that is read",
            id="a file that says it is empty and is endless",
        ),
        pytest.param("large", "large: has more than 4194304 bytes, the most that is read", id="10 MB"),
    ],
)
def test_only_regular_files_of_some_size_are_read(path: str, said: str, tmp_path: Path) -> None:
    """What never ends is refused before it is read."""
    os.mkfifo(tmp_path / "FIFO")
    (tmp_path / "large").write_bytes(bytes(10_000_000))

    cost = cost_of("validate", path, folder=tmp_path)

    assert said in cost.said
    assert cost.status == 1
    assert cost.peak_megabytes < MOST_MEGABYTES


def test_many_findings_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    """A person reads the first hundred; the summary has the number of all."""
    lines = "".join(f"  m{number}: {{qps_limit: x}}\n" for number in range(1_000))
    (tmp_path / "fleet.yaml").write_text(
        f'fleet: f\nreplicas: [{{name: a, url: "http://h"}}]\nmodels:\n{lines}'
    )

    lines = cost_of("validate", "fleet.yaml", folder=tmp_path).said.splitlines()

    assert len(lines) == 102
    assert lines[100].endswith(": and 900 more from here on; fix these first")
    assert lines[101] == "fleet.yaml: 1,000 findings"
