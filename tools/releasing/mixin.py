"""The mixin as a folder that evaluates by itself: rules, boards, and nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from forge import absolute, forge
from releasing.checkout import listed

FOLDER: Final = "tritonobs-mixin"
"""The folder in the archive. It has no version, so that `import 'tritonobs-mixin/mixin.libsonnet'` stays."""
_WHOLE = (
    "rules/*.libsonnet",
    "rules/*.jsonnet",
    "rules/jsonnetfile.json",
    "dashboards/generated/*.json",
    "LICENSE",
)
_ENTRY = """\
// The mixin: prometheusRules, prometheusAlerts, grafanaDashboards and _config.
import 'rules/mixin.libsonnet'
"""


def mixin_files(root: Path, version: str) -> dict[str, bytes]:
    """The files of the archive by path; links of its page lead to the files as they were at `version`.

    Raises:
        CannotRelease: git is not here, or `root` is not a checkout.
    """
    page = (root / "rules" / "README.md").read_text(encoding="utf-8")
    return {
        **{name: (root / name).read_bytes() for name in listed(root, *_WHOLE)},
        "README.md": absolute(page, forge(root), ref=f"v{version}", folder="rules").encode(),
        "mixin.libsonnet": _ENTRY.encode(),
    }
