"""An identity model that serves each request in another way than the one before, and says what it took."""

from __future__ import annotations

import functools
import json
import sys
import time
from pathlib import Path

ORDER = ("bare", "blocks", "compiled", "request", "python", "cells")
SKIPPED = 500


class TritonPythonModel:
    """Ways in turn: all of them see the same machine, the same caches and the same clients."""

    def initialize(self, args: dict) -> None:
        """Make every way in this one process."""
        sys.path.insert(0, str(Path(__file__).parent))
        import ways  # noqa: PLC0415 (lies beside this file)

        parameters = json.loads(args["model_config"])["parameters"]
        self.result = Path(parameters["result"]["string_value"])
        sys.path.insert(0, parameters["package"]["string_value"])
        old = ways.Tritonobs({**args, "model_name": "old"})
        sys.path.pop(0)
        for name in [name for name in sys.modules if name.split(".")[0] == "tritonobs"]:
            del sys.modules[name]
        from tritonobs.stage import cells, record, stages  # noqa: PLC0415 (the new one, after the old one)

        if not cells.COMPILED:
            raise RuntimeError("the record path is not compiled; run: python tools/compile_record.py")
        compiled = ways.Tritonobs({**args, "model_name": "compiled"})
        request = ways.Request({**args, "model_name": "request"})
        stages.Cells = functools.partial(cells.Cells, recorder=record.Recorder)
        plain = ways.Tritonobs({**args, "model_name": "plain"})
        made = (None, ways.Way(args), compiled, request, plain, old)
        self.serve = ways.TritonPythonModel.__new__(ways.TritonPythonModel)
        self.serve.block = b""
        self.turns = [
            (name, way, self.serve.bare if way is None else self.serve.timed)
            for name, way in zip(ORDER, made, strict=True)
        ]
        self.took: dict[str, list[float]] = {name: [] for name in ORDER}
        self.served = 0

    def execute(self, requests: list) -> list:
        """One way after the other."""
        responses = []
        for request in requests:
            name, self.serve.way, serve = self.turns[self.served % len(self.turns)]
            self.served += 1
            started = time.perf_counter()
            responses.append(serve(request))
            took = time.perf_counter() - started
            if self.served > SKIPPED:
                self.took[name].append(took)
        return responses

    def finalize(self) -> None:
        """Write what each took, in seconds."""
        for _, way, _ in self.turns:
            if way:
                way.finalize()
        self.result.write_text(json.dumps(self.took), encoding="utf-8")
