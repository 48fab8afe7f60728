"""Both tiers in one Prometheus: what a shard records has other names, and is copied as federation would.

Every rule then sees what it would see with a shard that has all servers, so that what is said of one
Prometheus can be asked of two tiers. Only what grew is there an evaluation later.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from support.case import RECORD
from tritonobs.render.rules import evaluate_mixin, given_by_shards

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.case import Case

ON_SHARD: Final = "on_shard:"
SHARD: Final = "0"
_SHARD_DELAY_SECONDS: Final = 15
"""`shardDelay`: the global tier reads increases so late, or an evaluation late where that is longer."""


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


def reads_increases(case: Case) -> bool:
    """Whether the case asks for a record at the one moment at which something grew."""
    return any(_increases(check.expr) for check in case.checks)


def asked_later(case: Case) -> Case:
    """The case with the checks of increases as late as those of shards are in the global tier.

    Each of them is in one evaluation there, too, the next one.
    """
    minutes = max(_SHARD_DELAY_SECONDS, case.world.scrape_seconds) / 60
    checks = (
        replace(check, minute=check.minute + minutes) if _increases(check.expr) else check
        for check in case.checks
    )
    return replace(case, checks=tuple(checks))


def _increases(expr: str) -> bool:
    return not _counted().isdisjoint(RECORD.findall(expr))


@cache
def _counted() -> frozenset[str]:
    return frozenset(one.record for one in given_by_shards({}) if one.counts)
