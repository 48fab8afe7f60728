"""A robot as a process: `python -m tritonobs.extensions.lab.robot.process WEBHOOK_FILE SECRET_FILE [CHAT]`.

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
from tritonobs.extensions.lab.robot.vendors import VENDORS


def main(webhook_file: Path, secret_file: Path, chat: str = "dingtalk") -> None:
    """Answer until SIGTERM or SIGINT."""
    webhook = urlsplit(webhook_file.read_text(encoding="utf-8").strip())
    vendor = VENDORS[chat]
    field = vendor.token_field
    token = parse_qs(webhook.query)[field][0] if field else webhook.path.removeprefix(vendor.path)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    secret = secret_file.read_text(encoding="utf-8").strip()
    with RobotDouble(chat=chat, token=token, secret=secret if vendor.signed else "", port=webhook.port or 80):
        stopping.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4])
