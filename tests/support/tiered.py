"""Both tiers in one Prometheus: what a shard records has other names, and is copied as federation would.

Every rule then sees what it would see with a shard that has all servers, so that what is said of one
Prometheus can be asked of two tiers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tritonobs.render.rules import evaluate_mixin, given_by_shards

if TYPE_CHECKING:
    from collections.abc import Mapping

ON_SHARD: Final = "on_shard:"
SHARD: Final = "0"


def tiered_groups(knobs: Mapping[str, object], shard: str = SHARD) -> tuple[dict[str, Any], ...]:
    """The groups of a shard, then what brings its records to the global tier, then the groups of that."""
    own = {**knobs, "tier": "shard"}
    groups = evaluate_mixin(own)["records"]["groups"]
    records = {rule["record"] for group in groups for rule in group["rules"]}
    name = re.compile(rf"(?<![\w:])(?:{'|'.join(sorted(records, key=len, reverse=True))})(?![\w:])")
    shards = [
        {
            **group,
            "name": f"shard.{group['name']}",
            "rules": [
                {
                    **rule,
                    "record": f"{ON_SHARD}{rule['record']}",
                    "expr": name.sub(rf"{ON_SHARD}\g<0>", rule["expr"]),
                }
                for rule in group["rules"]
            ],
        }
        for group in groups
    ]
    copied = {
        "name": "federation",
        "interval": shards[0]["interval"],
        "rules": [
            {
                "record": f"shard:{one.record}",
                "expr": f"{ON_SHARD}{one.record}",
                "labels": {"shard": shard},
            }
            for one in given_by_shards(knobs)
        ],
    }
    whole = evaluate_mixin({**knobs, "tier": "global"})
    return (*shards, copied, *whole["records"]["groups"], *whole["alerts"]["groups"])
