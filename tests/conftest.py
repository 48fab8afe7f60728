"""What all tests share: where the stack's programs are when a test works in a folder of its own."""

import os
from pathlib import Path

os.environ.setdefault("TRITONOBS_TOOLS", str(Path(__file__).parent.parent / ".tools"))
