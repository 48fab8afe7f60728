"""What the laboratory answers to other parts: the stack that runs here, and a replica under rising load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tritonobs.errors import TritonobsError
from tritonobs.extensions.lab.load.schedule import LoadResult, Segment
from tritonobs.extensions.lab.stack import native
from tritonobs.extensions.lab.stack.processes import Folders

_SERVE = "serve"


class Running:
    """The stack that runs with this state folder, or none."""

    def __init__(self, state: Path) -> None:
        self._there = (state / "stack.json").is_file()
        self._folders = Folders(root=state.absolute())

    def url(self, part: str) -> str | None:
        """Where this part answers; None without it."""
        if not self._there:
            return None
        try:
            known = native.known(self._folders)
        except TritonobsError:
            return None
        # The note of a stack that was killed is still there, and another program may have its ports.
        return next((each.url for each in known if each.name == part and each.process()), None)

    def fleet_file(self) -> Path | None:
        """The fleet file that its serve follows: the user's, or a copy with other ports or a local robot."""
        words = self._words(_SERVE)
        if _SERVE not in words:
            return None
        file = Path(words[words.index(_SERVE) + 1])
        return file if file.is_file() else None

    def _words(self, part: str) -> tuple[str, ...]:
        """The words this part was started with."""
        if not self._there:
            return ()
        try:
            found = next((each for each in native.known(self._folders) if each.name == part), None)
            service = native.describe(found) if found else None
        # The process may end, or belong to another user, while it is asked for its words.
        except (TritonobsError, psutil.Error):
            return ()
        return tuple(service.argv) if service else ()


def driven(
    url: str, model: str, mix: str, rates: Sequence[float], seconds: float
) -> Iterator[tuple[float, LoadResult]]:
    """Send load to a replica in steps, each waited for; what came of each, by its rate in requests a second.

    Raises:
        ValueError: the mix cannot be read.
    """
    from tritonobs.extensions.lab.load.images import parse_mix  # noqa: PLC0415 (brings OpenCV)
    from tritonobs.extensions.lab.load.run import LoadPlan, run_load  # noqa: PLC0415 (as above)
    from tritonobs.extensions.lab.report import load_progress  # noqa: PLC0415 (brings rich)

    ingredients = parse_mix(mix)
    for qps in rates:
        plan = LoadPlan(
            segments=(Segment(qps=qps, seconds=seconds),), urls=(url,), model=model, mix=ingredients
        )
        with load_progress(f"{qps:.3g} requests/s") as show:
            result = run_load(plan, show)
        if result.stopped:
            # Ctrl-C: a step that was not finished suggests nothing.
            raise KeyboardInterrupt
        yield qps, result
