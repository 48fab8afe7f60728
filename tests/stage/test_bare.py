"""`tritonobs.stage` goes into inference images: bare Python, nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tritonobs.stage

PACKAGE = Path(tritonobs.stage.__file__).parent
PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
import tritonobs.stage
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"tritonobs"}
ours = {name for name in sys.modules if name.startswith("tritonobs.")}
print(sorted(foreign - {"__main__"}), sorted(name for name in ours if not name.startswith("tritonobs.stage")))
"""


def test_a_bare_interpreter_can_import_it():
    """Without site-packages, and without anything else of tritonobs."""
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", PROBE, str(PACKAGE.parent.parent)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[] []"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_it_is_written_in_python_3_10(path):
    """The oldest Python that inference images of supported Triton releases ship."""
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
