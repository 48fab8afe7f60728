"""Incidents and alerts of this moment."""

from __future__ import annotations

import palette

from signals import Signal, Step

_OF_BOARD = 'alertstate="firing", %(concerns)s'
# Beside a timeline is room for 40 letters; all alerts of the fleet begin with the same six.
_SHORT = 'label_replace(%s, "alertname", "$1", "alertname", "Triton([A-Z].*)")'
# Rows are in the order of the alphabet: what has no incident stands together by its model.
_WHAT = '"what", " ", "model", "alertname", "version", "stage", "robot"'
# Without the model the text begins with the separator.
_BARE = 'label_replace(\n%s,\n"what", "$1", "what", " +(.+)")'
_INCIDENTS = "tritonobs_incident_alert_since_timestamp_seconds{%(cluster)s}"
# Of 20261125-1231-3f9a12bc07 the time of day, and as much of the rest as tells it from another one.
_AT = '"at", "$1", "incident", "[0-9]{8}-([0-9]{4}-[0-9a-f]{2}).*"'


def _named(series: str) -> str:
    """The series with what its row is called."""
    return f"label_join({_SHORT % series}, {_WHAT})"


def _firing(labels: str) -> str:
    """Every firing alert as a row of its own: 1 info, 2 warning, 3 critical. Not the Watchdog.

    The row begins with the incident that the alert is of, or was of last. That is asked once, as of the end
    of the picture: an alert is joined seconds after it began, and would have two rows otherwise.
    """
    every = f'{labels}, alertname!="Watchdog"'

    def fires(severity: str, level: int) -> str:
        alerts = f'ALERTS{{{every}, severity="{severity}"}}'
        return f"max by (what) ({_named(alerts)}) * 0 + {level}"

    rows = "\nor\n".join((fires("info", 1), fires("warning", 2), fires("critical", 3)))
    now, before = f"{_INCIDENTS} @ end()", f"last_over_time({_INCIDENTS}[$__range] @ end())"
    latest = "\nor on (what)\n".join(f"topk by (what) (1, {_named(one)})" for one in (now, before))
    of = (
        f"max by (what, at) (label_replace(\n{latest},\n{_AT})) * 0 + 1\n"
        f"or on (what)\ngroup by (what) ({_named(f'ALERTS{{{every}}}')})"
    )
    joined = f"{_BARE % rows}\n* on (what) group_left (at)\n{_BARE % of}"
    return _BARE % f'label_join(\n{joined},\n"what", " ", "at", "what")'


TIMELINE = Signal(
    title="Alerts",
    unit="none",
    expr=_firing(_OF_BOARD),
    legend="{{what}}",
    description=(
        "Every alert while it fires, for the chosen models and for what all share. Those of one incident "
        "stand together: they begin with the time (UTC) and the next letters of its id. Good: none. From "
        "`ALERTS` and `tritonobs_incident_alert_since_timestamp_seconds`."
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
    empty="no data",
    decimals=0,
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)

INCIDENTS = Signal(
    title="Duration",
    unit="dtdhms",
    expr=(
        "(time() - tritonobs_incident_since_timestamp_seconds{%(cluster)s})\n"
        "or on ()\n"
        'label_replace(sum(tritonobs_incidents{%(cluster)s}) * 0, "sentence", "no incident", "", "")'
    ),
    legend="{{sentence}}",
    description="How long the incident has been open. From `tritonobs_incident_since_timestamp_seconds`.",
)
