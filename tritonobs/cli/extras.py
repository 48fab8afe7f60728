"""The extra that installs a missing package."""

from __future__ import annotations

_STACK = ("cv2", "gevent", "geventhttpclient", "numpy", "onnxruntime", "pytriton", "tritonclient")
_SNAPSHOT = ("matplotlib",)


def without(missing: ModuleNotFoundError) -> str:
    """One sentence: what is missing, and the command that brings it."""
    name = (missing.name or str(missing)).partition(".")[0]
    # The extra, because modules and packages differ in name (cv2 is in opencv-python-headless).
    extra = "stack" if name in _STACK else "snapshot" if name in _SNAPSHOT else "cli"
    return f"this command needs {name}: pip install 'tritonobs[{extra}]'"
