"""The robot double as a process: `python -m tritonobs.extensions.lab.robot.process WEBHOOK_FILE SECRET_FILE`.

It answers at the webhook of the first file and takes the signing secret of the second, the very
files `tritonobs serve` reads. `GET /messages` lists what it accepted, oldest first.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tritonobs.extensions.lab.robot.robot import RobotDouble


def main(webhook_file: Path, secret_file: Path) -> None:
    """Answer until SIGTERM or SIGINT."""
    webhook = urlsplit(webhook_file.read_text(encoding="utf-8").strip())
    token = parse_qs(webhook.query)["access_token"][0]
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    secret = secret_file.read_text(encoding="utf-8").strip()
    with RobotDouble(token=token, secret=secret, port=webhook.port or 80):
        stopping.wait()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
