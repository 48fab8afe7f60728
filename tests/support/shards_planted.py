"""What would be wrong with tiers: each changes a right configuration, and a check must see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.beside import Configs

_FORGOTTEN = "model_version:triton_queue_duration_seconds:"


def objectives_on_shards(configs: Configs) -> None:
    """Every shard has the rules of one Prometheus, its objectives and alerts, too."""
    more = [{**group, "name": f"one.{group['name']}"} for group in configs["one"]["rules"]["groups"]]
    for name, config in configs.items():
        if name.isdigit():
            config["rules"] = {"groups": [*config["rules"]["groups"], *more]}


def a_record_forgotten(configs: Configs) -> None:
    """The global Prometheus does not ask for one of the records that it reads."""
    for job in configs["whole"]["scrape_configs"]:
        if matched := job.get("params", {}).get("match[]"):
            matched[0] = re.sub(rf"{_FORGOTTEN}\w+\|", "", matched[0])


def averaged(configs: Configs) -> None:
    """What shards have of one model is averaged, not summed."""
    for group in configs["whole"]["rules"]["groups"]:
        for rule in group["rules"]:
            rule["expr"] = rule["expr"].replace("sum without (shard)", "avg without (shard)")


def counted_twice(configs: Configs) -> None:
    """Increases get the time of the scrape, so that one that is seen twice counts twice."""
    for job in configs["whole"]["scrape_configs"]:
        if job.get("honor_timestamps"):
            job["honor_timestamps"] = False


PLANTS: Final[dict[str, Callable[[Configs], None]]] = {
    one.__name__: one for one in (objectives_on_shards, a_record_forgotten, averaged, counted_twice)
}
