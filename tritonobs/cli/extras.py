"""The extra that installs a missing package."""

from __future__ import annotations

_STACK = ("cv2", "gevent", "geventhttpclient", "numpy", "onnxruntime", "pytriton", "tritonclient")
_SNAPSHOT = ("matplotlib",)
_LINT = ("promql_parser",)


def without(missing: ModuleNotFoundError) -> str:
    """One sentence: what is missing, and the command that brings it."""
    name = (missing.name or str(missing)).partition(".")[0]
    # The extra, because modules and packages differ in name (cv2 is in opencv-python-headless).
    extras = {"stack": _STACK, "snapshot": _SNAPSHOT, "lint": _LINT}
    extra = next((extra for extra, modules in extras.items() if name in modules), "cli")
    return f"this command needs {name}: pip install 'tritonobs[{extra}]'"
