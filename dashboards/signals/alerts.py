"""Alerts that fire now."""

from __future__ import annotations

import palette

from signals import Signal, Step

_OF_BOARD = 'alertstate="firing", %(concerns)s'
# Beside a timeline is room for 40 letters; all alerts of the fleet begin with the same six.
_SHORT = 'label_replace(%s, "alertname", "$1", "alertname", "Triton([A-Z].*)")'
_WHAT = '"what", " ", "alertname", "model", "version", "stage", "robot"'


def _firing(labels: str) -> str:
    """Every firing alert as a row of its own: 0 the watchdog, 1 info, 2 warning, 3 critical."""
    levels = (
        ('alertname="Watchdog"', 0),
        ('severity="info", alertname!="Watchdog"', 1),
        ('severity="warning"', 2),
        ('severity="critical"', 3),
    )
    return "\nor\n".join(
        f"max by (what) (label_join({_SHORT % f'ALERTS{{{labels}, {chosen}}}'}, {_WHAT})) * 0 + {level}"
        for chosen, level in levels
    )


TIMELINE = Signal(
    title="Alerts",
    unit="none",
    expr=_firing(_OF_BOARD),
    legend="{{what}}",
    description=(
        "Every alert while it fires, for the chosen models and for what all share. Good: nothing but the "
        "Watchdog, which always fires; when even that is missing, Prometheus or its rules are broken. From "
        "`ALERTS`."
    ),
    says=(
        (0, "alerting works", palette.GOOD),
        (1, "info", palette.SEVERITIES["info"]),
        (2, "warning", palette.SEVERITIES["warning"]),
        (3, "critical", palette.SEVERITIES["critical"]),
    ),
)

FIRING = Signal(
    title="Alerts firing",
    unit="none",
    expr=f'count(ALERTS{{{_OF_BOARD}, severity=~"critical|warning"}}) or vector(0)',
    legend="firing",
    description="Critical alerts and warnings that fire now. Good: 0. From `ALERTS`.",
    decimals=0,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)
