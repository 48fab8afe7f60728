"""A jsonnet file and all it imports as one text.

The C++ jsonnet reads its whole standard library anew for every file that is imported, which takes longer than
all that our files have to say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_IMPORT = re.compile(r"\bimport '([^']+)'")


def bundled(path: Path) -> str:
    """One jsonnet expression with the value of the file; comments on lines of their own are left out."""
    names: dict[Path, str] = {}
    texts: list[str] = []

    def name_of(file: Path) -> str:
        if file not in names:
            code = "\n".join(
                line
                for line in file.read_text(encoding="utf-8").splitlines()
                if not line.strip().startswith("//")
            )
            code = _IMPORT.sub(lambda found: name_of((file.parent / found[1]).resolve()), code)
            names[file] = f"file_{len(names)}"
            texts.append(f"local {names[file]} =\n{code};\n")
        return names[file]

    whole = name_of(path.resolve())
    return "".join(texts) + whole
