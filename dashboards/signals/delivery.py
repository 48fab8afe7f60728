"""tritonobs itself: the delivery of alerts, and what its rules cost Prometheus."""

from __future__ import annotations

import palette

from signals import Signal, Step

_SERVE = "{%(serve)s, %(cluster)s}"
_PARTS = '{%(cluster)s, job=~"tritonobs|prometheus|alertmanager"}'
_GROUPS = '{%(cluster)s, rule_group=~".*;tritonobs[.].*"}'
_GROUP = '"group", "$1", "rule_group", ".+;tritonobs[.](.+)"'

PARTS_UP = Signal(
    title="Components up",
    unit="none",
    expr=f"min by (job) (up{_PARTS})",
    legend="{{job}}",
    description="Whether the components that deliver alerts are up. Good: all up. From `up`.",
    says=((0, "down", palette.CRITICAL), (1, "up", palette.GOOD)),
    steps=(Step(value=None, colour=palette.CRITICAL), Step(value=1, colour=palette.GOOD)),
)

FLEET_FILE = Signal(
    title="Fleet file",
    unit="none",
    expr=f"min(tritonobs_config_valid{_SERVE})",
    legend="fleet file",
    description=(
        "Whether the current fleet file is in use. Good: in use; when refused, the last valid one "
        "stays. From `tritonobs_config_valid`."
    ),
    says=((0, "refused", palette.CRITICAL), (1, "in use", palette.GOOD)),
    steps=(Step(value=None, colour=palette.CRITICAL), Step(value=1, colour=palette.GOOD)),
)

WAITING = Signal(
    title="Calls waiting",
    unit="none",
    expr=f"sum by (robot) (tritonobs_delivery_waiting_calls{_SERVE})",
    legend="{{robot}}",
    description=(
        "Webhook calls that wait for a digest to be accepted. Good: back to 0 within seconds. From "
        "`tritonobs_delivery_waiting_calls`."
    ),
    decimals=0,
)

BUDGET = Signal(
    title="Rate limit left",
    unit="none",
    expr=f"min by (robot) (tritonobs_robot_budget_remaining{_SERVE})",
    legend="{{robot}}",
    description=(
        "Messages a robot may still send in this minute before its chat mutes it. Good: above 0; at "
        "0 alerts wait and are sent together. From `tritonobs_robot_budget_remaining`."
    ),
    steps=(
        Step(value=None, colour=palette.CRITICAL),
        Step(value=1, colour=palette.BAD),
        Step(value=5, colour=palette.GOOD),
    ),
    decimals=0,
)

MUTED = Signal(
    title="Robot",
    unit="none",
    expr=(
        "max by (robot, chat) (\n"
        f"  tritonobs_robot_muted{_SERVE}\n"
        "    * on (instance, robot) group_left (chat)\n"
        f"  tritonobs_robot_info{_SERVE}\n"
        ")\n"
        "or on (robot)\n"
        f"max by (robot) (tritonobs_robot_muted{_SERVE})"
    ),
    legend="{{chat}} {{robot}}",
    description=(
        "Whether the robot's chat mutes it. Good: delivering. From `tritonobs_robot_muted` and "
        "`tritonobs_robot_info`."
    ),
    says=((0, "delivering", palette.GOOD), (1, "muted", palette.CRITICAL)),
    steps=(Step(value=None, colour=palette.GOOD), Step(value=1, colour=palette.CRITICAL)),
)

CALLS = Signal(
    title="Webhook calls by result",
    unit="reqpm",
    expr=f"60 * sum by (robot, answer) (rate(tritonobs_delivery_calls_total{_SERVE}[$__rate_interval]))",
    legend="{{robot}} {{answer}}",
    colours=tuple(palette.DELIVERY.items()),
    description=(
        "Alertmanager's webhook calls by result. Good: `accepted`; after `come_again` Alertmanager "
        "retries, so alerts are delayed, not lost. From `tritonobs_delivery_calls_total`."
    ),
)

MESSAGES = Signal(
    title="Messages accepted",
    unit="mpm",
    expr=f"60 * sum by (robot) (rate(tritonobs_delivery_messages_total{_SERVE}[$__rate_interval]))",
    legend="messages {{robot}}",
    description=(
        "Messages that the robot accepted, and alerts in them. Good: many alerts in few messages when "
        "many fire at once. From `tritonobs_delivery_messages_total` and "
        "`tritonobs_delivery_alerts_total`."
    ),
)

ALERTS = Signal(
    title="Alerts delivered",
    unit="mpm",
    expr=f"60 * sum by (robot, status) (rate(tritonobs_delivery_alerts_total{_SERVE}[$__rate_interval]))",
    legend="alerts {{robot}} {{status}}",
    colours=tuple(palette.DELIVERY.items()),
    description=(
        "Alerts in accepted messages. Good: firing and resolved. From `tritonobs_delivery_alerts_total`."
    ),
)

ERRORS = Signal(
    title="Messages refused",
    unit="mpm",
    expr=(
        f"60 * sum by (robot, code) (rate(tritonobs_delivery_errors_total{_SERVE}[$__rate_interval]))\n"
        "or\n"
        f"sum by (robot) (rate(tritonobs_delivery_messages_total{_SERVE}[$__rate_interval])) * 0"
    ),
    legend="{{robot}} {{code}}",
    description=(
        "Messages that were refused, by the chat's code or the kind of failure. Good: 0. From "
        "`tritonobs_delivery_errors_total`."
    ),
)

WAIT = Signal(
    title="Time to delivery, P99",
    unit="s",
    expr=(
        "histogram_quantile(\n"
        f"  0.99, sum by (robot, le) (increase(tritonobs_delivery_wait_seconds_bucket{_SERVE}[1h]))\n"
        ") >= 0"
    ),
    legend="{{robot}}",
    description=(
        "From Alertmanager's call to the robot's acceptance, over an hour. Good: a few seconds, most of it "
        "spent waiting for more alerts to put in the same message. From `tritonobs_delivery_wait_seconds`."
    ),
)

NOTIFIED = Signal(
    title="Notifications of Alertmanager",
    unit="mpm",
    expr=(
        "60 * sum by (integration) (rate(alertmanager_notifications_total{%(cluster)s}[$__rate_interval]))\n"
        "  and\n"
        "sum by (integration) (increase(alertmanager_notifications_total{%(cluster)s}[$__range])) > 0"
    ),
    legend="{{integration}}",
    description=(
        "Notifications that Alertmanager tried, by integration. Good: rises when alerts fire. From "
        "`alertmanager_notifications_total`."
    ),
)

NOT_NOTIFIED = Signal(
    title="Failed notifications",
    unit="mpm",
    expr="60 * sum(rate(alertmanager_notifications_failed_total{%(cluster)s}[$__rate_interval]))",
    legend="failed",
    colours=tuple(palette.DELIVERY.items()),
    description=(
        "Notifications of Alertmanager that failed and are retried. Good: 0. From "
        "`alertmanager_notifications_failed_total`."
    ),
)

RULE_SECONDS = Signal(
    title="Cost of the rules",
    unit="percentunit",
    expr=(
        "max by (group) (\n"
        "  label_replace(\n"
        f"    prometheus_rule_group_last_duration_seconds{_GROUPS}\n"
        "      /\n"
        f"    prometheus_rule_group_interval_seconds{_GROUPS},\n"
        f"    {_GROUP}\n"
        "  )\n"
        ")"
    ),
    legend="{{group}}",
    description=(
        "Duration of the last evaluation of each group as a share of its interval. Good: below 10 %; at "
        "100 % evaluations are missed. From `prometheus_rule_group_last_duration_seconds`."
    ),
    steps=(Step(value=None, colour=palette.GOOD), Step(value=0.5, colour=palette.BAD)),
)

RULE_MISSED = Signal(
    title="Evaluations missed",
    unit="opm",
    expr=f"60 * sum(rate(prometheus_rule_group_iterations_missed_total{_GROUPS}[$__rate_interval]))",
    legend="missed",
    colours=tuple(palette.DELIVERY.items()),
    description=(
        "Evaluations skipped because the previous one had not finished, and rules that failed. Good: 0. From "
        "`prometheus_rule_group_iterations_missed_total` and `prometheus_rule_evaluation_failures_total`."
    ),
)

RULE_FAILED = Signal(
    title="Rules failed",
    unit="opm",
    expr=f"60 * sum(rate(prometheus_rule_evaluation_failures_total{_GROUPS}[$__rate_interval]))",
    legend="failed",
    colours=tuple(palette.DELIVERY.items()),
    description="Rules that failed. Good: 0. From `prometheus_rule_evaluation_failures_total`.",
)

HEAD_SERIES = Signal(
    title="Series in Prometheus",
    unit="short",
    expr="sum(prometheus_tsdb_head_series{%(cluster)s})",
    legend="series",
    description=(
        "Series Prometheus holds in memory. Good: flat; each reload of a model adds some for a while. From "
        "`prometheus_tsdb_head_series`."
    ),
)

MEMORY = Signal(
    title="Component memory",
    unit="bytes",
    expr=f"max by (job) (process_resident_memory_bytes{_PARTS})",
    legend="{{job}}",
    description=(
        "Memory of Prometheus, Alertmanager and `tritonobs serve`. Good: flat. From "
        "`process_resident_memory_bytes`."
    ),
)

CPU = Signal(
    title="Component CPU",
    unit="none",
    expr=f"sum by (job) (rate(process_cpu_seconds_total{_PARTS}[$__rate_interval]))",
    legend="{{job}}",
    description=(
        "Cores that Prometheus, Alertmanager and `tritonobs serve` use. Good: below half a core each on a "
        "small fleet. From `process_cpu_seconds_total`."
    ),
)
