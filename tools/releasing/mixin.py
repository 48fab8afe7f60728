"""The mixin as a folder that evaluates by itself: rules, boards, and nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from forge import absolute, forge

FOLDER: Final = "tritonobs-mixin"
"""The folder in the archive. It has no version, so that `import 'tritonobs-mixin/mixin.libsonnet'` stays."""
_WHOLE = ("rules/**/*", "dashboards/generated/*.json", "LICENSE")
_PAGE = "rules/README.md"
_ENTRY = """\
// The mixin: prometheusRules, prometheusAlerts, grafanaDashboards and _config.
import 'rules/mixin.libsonnet'
"""


def mixin_files(tree: Path, version: str) -> dict[str, bytes]:
    """The files of the archive by path; links of its page lead to the files as they were at `version`."""
    files = [file for pattern in _WHOLE for file in tree.glob(pattern) if file.is_file()]
    made = {file.relative_to(tree).as_posix(): file.read_bytes() for file in files}
    page = made.pop(_PAGE).decode()
    return {
        **made,
        "README.md": absolute(page, forge(tree), ref=f"v{version}", folder="rules").encode(),
        "mixin.libsonnet": _ENTRY.encode(),
    }
