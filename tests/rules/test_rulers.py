"""Rulers that limit groups take the rules as they are built."""

import pytest

from tritonobs import names
from tritonobs.render.rules import RULES_PER_GROUP, evaluate_mixin

MIMIR_RULES, MIMIR_GROUPS = 20, 70
"""Mimir's defaults of ruler_max_rules_per_rule_group and ruler_max_rule_groups_per_tenant."""
OBJECTIVE_GROUPS = 25
"""What stays free for objectives: 500 rows."""
AGENTS = {"agentsSelector": f'job="{names.AGENTS_JOB}"'}


@pytest.mark.parametrize(
    "knobs", [{}, {"tier": "shard"}, {"tier": "global"}, AGENTS | {"recordsAtOnce": False}]
)
def test_groups_are_as_small_and_as_few_as_mimir_allows(knobs):
    """Groups are left for objectives; no name is there twice, so a namespace holds all files."""
    groups = [group for file in evaluate_mixin(knobs).values() for group in file["groups"]]

    assert max(len(group["rules"]) for group in groups) <= MIMIR_RULES
    assert RULES_PER_GROUP <= MIMIR_RULES
    free = MIMIR_GROUPS - len(groups)
    assert free >= OBJECTIVE_GROUPS, "too many groups of rules: put a rule into a group of its interval"
    assert len({group["name"] for group in groups}) == len(groups)
