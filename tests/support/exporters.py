"""Pages of exporters we cannot have, served as scrape targets of a Prometheus with our records."""

from __future__ import annotations

import json
import math
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from support.programs import PrometheusProgram
from support.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_STAMPED = frozenset({"ascend"})
"""Whose exporter writes with every sample when it was read, in milliseconds."""
_STEADY = ("total", "_FREE", "_RESERVED", "limit", "nums")


class Exporters(Serving):
    """A page per name, each at `/NAME` of one address; a context manager that leaves nothing running.

    With `waves` (a share, like 0.2) values that may change go up and down by it.
    """

    def __init__(self, pages: Mapping[str, str], *, waves: float = 0.0) -> None:
        self.names = tuple(sorted(pages))

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.strip("/")
                body = page_now(pages[name], time.time(), waves=waves, stamped=name in _STAMPED).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def prometheus(
        self, binary: Path, groups: object, folder: Path, *, beside: str = ""
    ) -> PrometheusProgram:
        """A Prometheus that scrapes every page each second, and evaluates these groups of rules.

        It takes the records of models from the Prometheus at `beside`, if there is one.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "records.yml").write_text(json.dumps({"groups": groups}), encoding="utf-8")
        targets = [{"targets": [f"127.0.0.1:{self._server.server_port}"]}]
        gathered = {
            "job_name": "gathered",
            "honor_labels": True,
            "metrics_path": "/federate",
            "params": {"match[]": ['{__name__=~"model_version:.+"}']},
            "static_configs": [{"targets": [beside.removeprefix("http://")]}],
        }
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "records.yml")],
            "scrape_configs": [
                *(
                    {"job_name": name, "metrics_path": f"/{name}", "static_configs": targets}
                    for name in self.names
                ),
                *([gathered] if beside else []),
            ],
        }
        return PrometheusProgram(binary, config, folder)


def page_now(page: str, now: float, *, waves: float, stamped: bool) -> str:
    """The page as it is at a moment (Unix seconds)."""
    lines = []
    for line in page.splitlines():
        if line.startswith("#"):
            lines.append(line)
            continue
        series, _, value = line.rpartition(" ")
        moved = value if _steady(series) else f"{float(value) * _wave(series, now, waves):.6g}"
        lines.append(f"{series} {moved if waves else value}" + (f" {now * 1000:.0f}" if stamped else ""))
    return "\n".join(lines) + "\n"


def _steady(series: str) -> bool:
    name = series.partition("{")[0]
    return any(name.endswith(word) or f"_{word}_" in name for word in _STEADY)


def _wave(series: str, now: float, share: float) -> float:
    turn = sum(series.encode()) % 360
    slow, quick = math.sin(now / 70 + turn), math.sin(now / 11 + 2 * turn)
    return 1 - share * (0.5 + 0.35 * slow + 0.15 * quick)
