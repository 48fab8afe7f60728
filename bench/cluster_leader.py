"""Two `tritonobs serve` share a real Lease; the one that delivers is killed while 100 alerts arrive."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from results import table

from support.control_plane import ControlPlane
from support.leaders import hand_over, serve_token

if TYPE_CHECKING:
    from pathlib import Path

_TAKEOVER_SECONDS, _MINUTE_MESSAGES, _TIMES = 20, 20, 2


def measure(folder: Path, rounds: int) -> tuple[str, object, bool]:
    """What became of each burst, by a robot as strict as the vendor's."""
    with ControlPlane(folder) as plane:
        for name in ("monitoring", "models"):
            plane.kubectl("create", "namespace", name)
        cluster = {"fleet": {"api": plane.url, "ca_file": str(plane.ca)}, "token": serve_token(plane, folder)}
        done = []
        for number in range(rounds):
            own = folder / f"round-{number}"
            own.mkdir()
            done.append(hand_over(own, cluster))
            plane.kubectl("-n", "monitoring", "delete", "lease", "tritonobs")
    rows = [
        [
            str(number),
            str(one.sent),
            str(len(one.lost)),
            str(one.doubled),
            str(one.most_times),
            f"{one.takeover_seconds:.1f} s",
            str(one.most_in_a_minute),
        ]
        for number, one in enumerate(done, start=1)
    ]
    header = ["round", "alerts", "lost", "told twice", "most times told", "takeover", "messages in a minute"]
    text = (
        "100 alerts in 5 s, the holder killed (SIGKILL) after 50; the API server is real and serve has the "
        "rights of the built Role. Takeover is from the kill until the other delivers.\n\n"
        f"{table(header, rows)}"
    )
    good = all(
        not one.lost
        and one.most_times <= _TIMES
        and one.takeover_seconds <= _TAKEOVER_SECONDS
        and one.most_in_a_minute <= _MINUTE_MESSAGES
        for one in done
    )
    return text, [asdict(one) for one in done], good
