"""Print what extras of pyproject.toml bring: a layer of the image that changes when they do, not we."""

import sys
from pathlib import Path

import tomllib

extras = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
for name in sys.argv[1:]:
    print(*(one for one in extras[name] if not one.startswith("tritonobs[")), sep="\n")
