"""A Prometheus database with a past that is written down."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tritonobs import programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from support.simulate import World


def past_of(world: World, start: float) -> Iterator[tuple[str, float, float]]:
    """The samples of a world that began at a time, in Unix seconds."""
    for series, values in sorted(world.series.items(), key=lambda item: item[0].partition("{")[0]):
        for at, value in zip(world.times, values, strict=True):
            if value is not None:
                yield series, value, start + at


def write_past(samples: Iterable[tuple[str, float, float]], folder: Path) -> None:
    """Put samples (series, value, Unix seconds) into `folder`/data. Those of a name follow each other."""
    source = folder / "past.om"
    with source.open("w", encoding="utf-8") as file:
        file.writelines(f"{series} {value:.10g} {at:.3f}\n" for series, value, at in samples)
        file.write("# EOF\n")
    command = [str(programs.find("promtool")), "tsdb", "create-blocks-from", "openmetrics", str(source)]
    subprocess.run([*command, str(folder / "data")], check=True, capture_output=True)
