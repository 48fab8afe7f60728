"""SLOs: how much of the error budget is left, how fast it burns, and why."""

from __future__ import annotations

from dataclasses import replace

import palette

from signals import Signal, Step

_SELECTED = '%(model)s, slo=~"$slo"'
# Versions only where there are several: otherwise they say what the model says.
_SEVERAL = 'count by (%(by_model)s, slo) (slo:objective:ratio{version!="", %(model)s}) > 1'

_ANY_WINDOW = "max without (sloth_window) (%s)"
_A_SECOND = "sum_over_time(%s[5m]) / 300"


def _of(record: str, within: str = "%s") -> str:
    """The record of every chosen SLO; `within` is the expression around it."""
    whole = within % f'{record}{{version="", {_SELECTED}}}'
    versions = within % f'{record}{{version!="", version=~"$version", {_SELECTED}}}'
    return f"(\n  {whole}\n    or\n  {versions} and on (%(by_model)s, slo) ({_SEVERAL})\n)"


_LEGEND = "{{model}} {{slo}} {{version}}"
_BUDGET_STEPS = (
    Step(value=None, colour=palette.CRITICAL),
    Step(value=0, colour=palette.BAD),
    Step(value=0.25, colour=palette.NOTICE),
    Step(value=0.5, colour=palette.GOOD),
)
# The factors of the burn tiers for a period of 30 days: page at once, page, ticket.
_BURN_STEPS = (
    Step(value=None, colour=palette.GOOD),
    Step(value=1, colour=palette.NOTICE),
    Step(value=6, colour=palette.BAD),
    Step(value=14.4, colour=palette.CRITICAL),
)

REMAINING = Signal(
    title="Error budget remaining",
    short="budget left",
    unit="percentunit",
    expr=_of("slo:period_error_budget_remaining:ratio"),
    legend=_LEGEND,
    worst_is_least=True,
    description=(
        "What is left of the bad requests that the objective allows in its period; below 0 the SLO is "
        "missed. Good: above the share of the period that is left. From "
        "`slo:period_error_budget_remaining:ratio`."
    ),
    steps=_BUDGET_STEPS,
    minimum=None,
)

# On an axis: what is far below the end of the axis reads as the end of it, in words.
REMAINING_ON_AXIS = replace(
    REMAINING,
    expr=f"clamp_min({REMAINING.expr}, -1)",
    minimum=-1,
    maximum=1,
    says=((-1, "-100 % or worse", palette.CRITICAL),),
)

REMAINING_OF_MODEL = Signal(
    title="Error budget remaining",
    unit="percentunit",
    expr='clamp_min(slo:period_error_budget_remaining:ratio{version="", %(model)s}, -1)',
    legend="{{slo}}",
    description=(
        "What is left of the error budgets of this model; -100 % and less is drawn as -100 %. Good: above "
        "the share of the period that is left. From `slo:period_error_budget_remaining:ratio`."
    ),
    minimum=-1,
    maximum=1,
    steps=_BUDGET_STEPS,
)

BROKEN = Signal(
    title="SLOs missed",
    unit="none",
    expr='count(slo:period_error_budget_remaining:ratio{version="", %(model)s} < 0) or vector(0)',
    legend="missed",
    description="SLOs whose budget is spent. Good: 0. From `slo:period_error_budget_remaining:ratio`.",
    decimals=0,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)

FASTEST = Signal(
    title="Highest burn rate",
    unit="none",
    expr=f"max({_of('slo:current_burn_rate:ratio')})",
    legend="burn rate",
    description=(
        "The highest burn rate of the chosen SLOs over five minutes; 1 spends the budget exactly in one "
        "period. Good: below 1. From `slo:current_burn_rate:ratio`."
    ),
    decimals=1,
    steps=_BURN_STEPS,
)


def _burn(title: str, window: str, rest: str) -> Signal:
    return Signal(
        title=title,
        unit="none",
        expr=(
            f"{_of(f'slo:sli_error:ratio_rate{window}', _ANY_WINDOW)}\n"
            "  / on (%(by_subject)s, slo)\n"
            "slo:error_budget:ratio"
        ),
        legend=_LEGEND,
        description=f"The burn rate over the last {rest} From `slo:sli_error:ratio_rate{window}`.",
        steps=_BURN_STEPS,
        lines=True,
    )


BURN_1H = _burn(
    "Burn rate, 1 h",
    "1h",
    "hour. Good: below 1; at 14.4 a fiftieth of a month's budget is spent in an hour and a page fires.",
)
BURN_6H = _burn(
    "Burn rate, 6 h",
    "6h",
    "six hours. Good: below 1; at 6 a twentieth of a month's budget is spent in six hours and a page fires.",
)

BAD_SHARE = Signal(
    title="Error ratio",
    unit="percentunit",
    expr=_of("slo:sli_error:ratio_rate5m", _ANY_WINDOW),
    legend=_LEGEND,
    description=(
        "Bad requests as a share of valid ones, over five minutes: errors for availability, slow for "
        "latency. Good: below what the objective allows. From `slo:sli_error:ratio_rate5m`."
    ),
)

ALLOWED = Signal(
    title="Allowed error ratio",
    unit="percentunit",
    expr='max by (slo) (slo:error_budget:ratio{%(model)s, slo=~"$slo"})',
    legend="limit {{slo}}",
    description="What the objectives allow. Good: above the measured share. From `slo:error_budget:ratio`.",
)

BAD_REQUESTS = Signal(
    title="Bad requests",
    unit="reqps",
    expr=_of("slo:sli_bad_requests:increase", _A_SECOND),
    legend=_LEGEND,
    description=(
        "Bad requests per second by SLO: what the budget is spent on, in absolute numbers. Good: 0. From "
        "`slo:sli_bad_requests:increase`."
    ),
)

EXHAUSTED_IN = Signal(
    title="Time to exhaustion",
    short="time left",
    unit="dtdhms",
    expr=_of("slo:time_to_exhaustion:seconds"),
    legend=_LEGEND,
    description=(
        "When the budget is exhausted at the burn rate of the last hour; SLOs that do not burn are omitted. "
        "Good: omitted, or longer than the period. From `slo:time_to_exhaustion:seconds`."
    ),
    steps=(
        Step(value=None, colour=palette.CRITICAL),
        Step(value=86400, colour=palette.BAD),
        Step(value=604800, colour=palette.NOTICE),
        Step(value=2592000, colour=palette.GOOD),
    ),
)

OBJECTIVE = Signal(
    title="Objective",
    short="objective",
    unit="percentunit",
    expr=_of("slo:objective:ratio"),
    legend=_LEGEND,
    description="The promised share of good requests. Good: as agreed. From `slo:objective:ratio`.",
    decimals=3,
)

BURN_NOW = Signal(
    title="Burn rate now",
    short="burn rate",
    unit="none",
    expr=_of("slo:current_burn_rate:ratio"),
    legend=_LEGEND,
    description="Burn rate over five minutes. Good: below 1. From `slo:current_burn_rate:ratio`.",
    decimals=2,
    steps=_BURN_STEPS,
)
