"""Pages for Prometheus to scrape, one path each on one port of loopback."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def scraped(
    job: str, page: Callable[[int], str], pages: int, scrape_seconds: int
) -> Iterator[list[dict[str, Any]]]:
    """Serve `page(number)` for each of them, and give what `scrape_configs` says of the job."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = page(int(self.path.rpartition("/")[2])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Nothing: a line for each scrape is of no use."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield [
            {
                "job_name": job,
                "honor_labels": True,
                "scrape_interval": f"{scrape_seconds}s",
                "static_configs": [
                    {
                        "targets": [f"127.0.0.1:{server.server_address[1]}"],
                        "labels": {
                            "__metrics_path__": f"/{number}",
                            "instance": f"{job}-{number}:8002",
                            "replica": f"{job}-{number}",
                        },
                    }
                    for number in range(pages)
                ],
            }
        ]
