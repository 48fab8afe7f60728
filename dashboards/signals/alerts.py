"""Incidents and alerts of this moment."""

from __future__ import annotations

import palette

from signals import Signal, Step

_OF_BOARD = 'alertstate="firing", %(concerns)s'
# Beside a timeline is room for 40 letters; all alerts of the fleet begin with the same six.
_SHORT = 'label_replace(%s, "alertname", "$1", "alertname", "Triton([A-Z].*)")'
# The model first: rows are in the order of the alphabet, and so one incident's alerts stand together.
_WHAT = '"what", " ", "model", "alertname", "version", "stage", "robot"'


def _firing(labels: str) -> str:
    """Every firing alert as a row of its own: 1 info, 2 warning, 3 critical. Not the Watchdog."""
    levels = (
        ('severity="info", alertname!="Watchdog"', 1),
        ('severity="warning"', 2),
        ('severity="critical"', 3),
    )
    rows = "\nor\n".join(
        f"max by (what) (label_join({_SHORT % f'ALERTS{{{labels}, {chosen}}}'}, {_WHAT})) * 0 + {level}"
        for chosen, level in levels
    )
    # Alerts without a model begin with the separator.
    return f'label_replace(\n{rows},\n"what", "$1", "what", " +(.+)")'


TIMELINE = Signal(
    title="Alerts",
    unit="none",
    expr=_firing(_OF_BOARD),
    legend="{{what}}",
    description=(
        "Every alert while it fires, for the chosen models and for what all share; those about one model "
        "stand together. Good: none. From `ALERTS`."
    ),
    empty="no alert",
    says=(
        (1, "info", palette.SEVERITIES["info"]),
        (2, "warning", palette.SEVERITIES["warning"]),
        (3, "critical", palette.SEVERITIES["critical"]),
    ),
)

FIRING = Signal(
    title="Alerts firing",
    unit="none",
    expr=(
        f'(count(ALERTS{{{_OF_BOARD}, severity=~"critical|warning"}}) or vector(0))\n'
        'and on () ALERTS{alertname="Watchdog", alertstate="firing"}'
    ),
    legend="firing",
    description=(
        "Critical alerts and warnings that fire now. Good: 0. Without a number the Watchdog, which always "
        "fires, is missing: Prometheus or its rules are broken. From `ALERTS`."
    ),
    empty="broken",
    decimals=0,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)

INCIDENTS = Signal(
    title="Lasts",
    unit="dtdhms",
    expr=(
        "(time() - tritonobs_incident_since_timestamp_seconds{%(cluster)s})\n"
        "or on ()\n"
        'label_replace(sum(tritonobs_incidents{%(cluster)s}) * 0, "sentence", "no incident", "", "")'
    ),
    legend="{{sentence}}",
    description="How long the trouble lasts. From `tritonobs_incident_since_timestamp_seconds`.",
)
