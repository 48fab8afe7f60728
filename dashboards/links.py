"""Links from board to board, each with the choices that the other board understands.

Grafana's own list of boards by tag hands over every variable by its name. "All" becomes the choice of a board
that needs one model, and empties it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Collection

ABOUT_ONE_MODEL: Final = frozenset({"model", "pipeline"})
_CARRIED: Final = ("version", "stage", "slo")
_FILTERS: Final = {"fleet": {"version"}, "language": {"version"}, "slo": {"version", "slo"}}
"""What filters a board about many models."""
_TITLES: Final = {name: name.title() for name in names.BOARDS} | {"slo": "SLO"}


def address(board: str, model: str, *, chooser: bool, carried: Collection[str] = _CARRIED) -> str:
    """The path of a board with its variables; `model` is the variable here that names one model."""
    handed = [*(["${datasource:queryparam}"] if chooser else []), "${cluster:queryparam}"]
    handed.append(f"var-{'model' if board in ABOUT_ONE_MODEL else 'focus'}=${{{model}}}")
    # One model's version would hide the other models of a board about many.
    handed += [f"${{{name}:queryparam}}" for name in carried if name not in _FILTERS.get(board, ())]
    return f"/d/{names.board_uid(board)}?{'&'.join(handed)}"


def links_to_others(board: str, variables: Collection[str], *, chooser: bool) -> list[dict[str, Any]]:
    """One link for each other board, in the order of the list."""
    model = "focus" if "focus" in variables else "model"
    return [
        {
            "type": "link",
            "title": _TITLES[name],
            "url": address(name, model, chooser=chooser),
            "keepTime": True,
            "includeVars": False,
            "asDropdown": False,
            "targetBlank": False,
            # Seven equal icons cost the boards a line.
            "icon": "",
            "tags": [],
            "tooltip": "",
        }
        for name in names.BOARDS
        if name != board
    ]
