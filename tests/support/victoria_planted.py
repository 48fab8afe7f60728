"""What would be wrong with vmagents and vmalert: each changes a right setup, and a check must see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tritonobs import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.victoria_rig import Setup


def agents_unwatched(setup: Setup) -> None:
    """Nobody scrapes the pages of agents."""
    jobs = setup.configs["whole"]["scrape_configs"]
    setup.configs["whole"]["scrape_configs"] = [job for job in jobs if job["job_name"] != names.AGENTS_JOB]


def records_read_at_once(setup: Setup) -> None:
    """The rules are those of Prometheus."""
    setup.configs["whole"]["rules"] = setup.configs["one"]["rules"]


def answers_of_half_a_minute_ago(setup: Setup) -> None:
    """VictoriaMetrics answers as it does without a flag."""
    setup.store = [flag for flag in setup.store if not flag.startswith("-search.latencyOffset")]


def samples_come_late(setup: Setup) -> None:
    """What counters are now lacks the last scrape, what they were has it, as where agents write too late."""
    for group in setup.configs["whole"]["rules"]["groups"]:
        for rule in group["rules"]:
            if rule.get("record", "").endswith(":increase"):
                rule["expr"] = re.sub(r"(last_over_time\([^()]*\[4s\])\)", r"\1 offset 2s)", rule["expr"])


def a_restart_forgets(setup: Setup) -> None:
    """Vmalert does not read which alerts there were, and Alertmanager takes alerts for over soon."""
    gone = ("-remoteRead.url", "-rule.resendDelay")
    setup.vmalert = [flag for flag in setup.vmalert if not flag.startswith(gone)]


PLANTS: Final[dict[str, Callable[[Setup], None]]] = {
    one.__name__: one
    for one in (
        agents_unwatched,
        records_read_at_once,
        answers_of_half_a_minute_ago,
        samples_come_late,
        a_restart_forgets,
    )
}
