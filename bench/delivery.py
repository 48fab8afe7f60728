"""How alerts arrive: in a burst, under load, on the live stack, and when something breaks.

python bench/delivery.py burst        100 groups in a minute, three bridges, half an hour of virtual time
python bench/delivery.py calls        many calls at once to a real `tritonobs serve`, and one large one
python bench/delivery.py overflow     a QPS limit overflown on the real stack, to the accepted message
python bench/delivery.py faults       every fault of tests/e2e/delivery, as those tests saw it

`--chat` says whose robots, DingTalk's by default. `--write` puts the
result into RESULTS.md, `--json` prints it for machines.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

import deliver_burst
import deliver_calls
import deliver_faults
import deliver_overflow
from results import publish

from tritonobs.extensions.lab.vendors import VENDORS


def main() -> None:
    """Read the command line, measure, publish."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["burst", "calls", "overflow", "faults"])
    parser.add_argument("--chat", choices=tuple(VENDORS), default="dingtalk", help="whose robots")
    parser.add_argument("--repeats", type=int, default=10, help="of the overflow")
    parser.add_argument("--state", type=Path, default=Path(".tritonobs/bench-delivery"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    # Ended from outside, it still stops the stack it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    if options.what == "burst":
        text, values = deliver_burst.measure(options.chat)
    elif options.what == "calls":
        text, values = deliver_calls.measure((1, 100, 500, 1000), (100, 3000), options.chat)
    elif options.what == "overflow":
        text, values = deliver_overflow.measure(options.repeats, options.state, options.chat)
    else:
        text, values = deliver_faults.measure(options.chat)
    name = options.what if options.chat == "dingtalk" else f"{options.what} {options.chat}"
    publish(f"delivery {name}", text, values, as_json=options.json, write=options.write)


if __name__ == "__main__":
    main()
