"""Every fault that tests/e2e/delivery plays on a real Alertmanager and a real `tritonobs serve`: a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from results import table

from tritonobs.chats.registry import robot_chat

_ROOT = Path(__file__).parent.parent
_TESTS = "tests/e2e/delivery/test_faults.py"
_CHAT = "TRITONOBS_CHAT"
_RECORDS = "TRITONOBS_FAULT_RECORDS"


def measure(chat: str) -> tuple[str, object]:
    """Run the tests and tell the accounts they took; a test that fails ends the program."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.jsonl"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", _TESTS],
            cwd=_ROOT,
            env={**os.environ, _RECORDS: str(records), _CHAT: chat},
            stdout=sys.stderr,
            check=False,
        )
        if done.returncode:
            sys.exit("a fault has no good end; nothing is published")
        accounts = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    header = ["fault", "alerts", "delivered", "times named", "after, s", "lost", "duplicates"]
    rows = [
        [
            each["fault"],
            str(each["sent"]),
            str(each["delivered"]),
            str(each["most_times"]),
            f"{each['seconds']:.1f}",
            str(len(each["lost"])),
            str(len(each["repeated"]) + len(each["needless"])),
        ]
        for each in accounts
    ]
    text = (
        f"As `{_TESTS}` saw them: alerts posted to a real Alertmanager, `tritonobs serve`, and robots of "
        f"{robot_chat(chat).title}, as strict as the vendor's. Firing and resolved count apart; the seconds "
        "are those of the slowest, from its arrival at Alertmanager to the message the robot accepted. Four "
        "scenarios run side by side.\n\n"
    )
    return text + table(header, rows), accounts
