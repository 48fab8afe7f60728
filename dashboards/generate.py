"""`python dashboards/generate.py` writes the boards that fit the rules mixin as it is to `generated/`."""

from __future__ import annotations

from pathlib import Path

from tritonobs import names
from tritonobs.render.artifact import Artifact, write_artifacts
from tritonobs.render.grafana import board_text, load_boards

FOLDER = Path(__file__).resolve().parent / "generated"

if __name__ == "__main__":
    write_artifacts(
        (
            Artifact(path=f"{names.board_uid(name)}.json", text=board_text(board))
            for name, board in load_boards().items()
        ),
        FOLDER,
    )
