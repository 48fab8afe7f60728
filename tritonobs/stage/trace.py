"""The trace of a request, for the model's log lines."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def trace_id(request: object) -> str | None:
    """The W3C trace id (32 hex digits) of a traced request; None for another, and on an old Triton."""
    try:
        trace: Any = request
        context = trace.trace().get_context()
        match = _TRACEPARENT.fullmatch(json.loads(context)["traceparent"]) if context else None
    except Exception:  # noqa: BLE001 (a log line's ornament never fails a request)
        return None
    return match[1] if match else None


if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter  # not generic before Python 3.11


class RequestLog(_Adapter):
    """Log lines of one request: its trace id in front if there is one, and as `trace_id` for formatters."""

    def __init__(self, logger: logging.Logger, traced: str | None) -> None:
        super().__init__(logger, {"trace_id": traced or ""})
        self._prefix = f"trace_id={traced} " if traced else ""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:  # noqa: ANN401 (as logging declares it)
        """As logging asks of an adapter."""
        # Merged: an adapter of logging replaces the `extra` of the call.
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return f"{self._prefix}{msg}", kwargs
