"""Requests per second, their limits and their outcomes."""

from __future__ import annotations

import palette
import thresholds

from signals import Signal, Step

_OFFERED = "subject:triton_requests_offered:rate%(short)s"


def _subjects(record: str) -> str:
    """Versions, and models over all their versions where they have more than one; the latter say `all`."""
    several = "count by (%(by_model)s) (model_version:triton_requests:rate%(short)s{%(model)s}) > 1"
    return (
        f'{record}{{model!="", version!="", %(subject)s}}\n'
        "or\n"
        "label_replace(\n"
        f'  {record}{{model!="", version="", %(model)s}} and on (%(by_model)s) ({several}),\n'
        '  "version", "all", "", ""\n'
        ")"
    )


FROM_CLIENTS = Signal(
    title="Client requests",
    unit="reqps",
    expr="sum(model:triton_requests_from_clients:rate%(short)s{%(model)s})",
    legend="requests",
    description=(
        "Requests per second that clients send, without those that pipelines send to other models. Good: "
        "the usual for this hour. From `model:triton_requests_from_clients:rate…`."
    ),
    decimals=1,
)

SERVED = Signal(
    title="Requests per second",
    short="req/s",
    unit="reqps",
    expr="model_version:triton_requests:rate%(short)s{%(subject)s}",
    legend="{{model}} {{version}}",
    description=(
        "Requests that each model version completed, with or without an error; a pipeline's calls count at "
        "the called model too. Good: the normal daily pattern. From `model_version:triton_requests:rate…`."
    ),
)

AGAINST_LIMIT = Signal(
    title="Requests per second and their limit",
    unit="reqps",
    expr=_subjects(_OFFERED),
    legend="{{model}} {{version}}",
    description=(
        "Requests offered (lines) and their limit (dashed, where at least a fifth of it is used); `all` "
        "is a model over its versions. The alert reads the same rate. Good: every line well below its "
        "limit. From `subject:triton_requests_offered:rate…` and `tritonobs_qps_limit`."
    ),
)

LIMIT = Signal(
    title="QPS limit",
    unit="reqps",
    expr=(
        f"(\n{_subjects('subject:tritonobs_qps_limit:held')}\n)\n"
        "  and on (%(by_subject)s)\n"
        f"(\n{_subjects(_OFFERED)}\n)\n"
        "  > on (%(by_subject)s)\n"
        f"0.2 * (\n{_subjects('subject:tritonobs_qps_limit:held')}\n)"
    ),
    legend="limit {{model}} {{version}}",
    description="The agreed limit. Good: above the traffic. From `subject:tritonobs_qps_limit:held`.",
)

LIMIT_USED = Signal(
    title="Share of the limit in use",
    short="% of limit",
    unit="percentunit",
    expr=(
        f"(\n{_subjects(_OFFERED)}\n)\n"
        "  / on (%(by_subject)s)\n"
        f"(\n{_subjects('subject:tritonobs_qps_limit:held')}\n)"
    ),
    legend="{{model}} {{version}}",
    description=(
        "Traffic as a share of its limit, in the shortest window that the alerts read. Good: below 80 %; "
        "from there on a warning fires, above 100 % the limit is exceeded. From "
        "`subject:triton_requests_offered:rate…` and `tritonobs_qps_limit`."
    ),
    steps=(
        Step(value=None, colour=palette.GOOD),
        Step(value=thresholds.LIMIT_WARNING, colour=palette.BAD),
        Step(value=1, colour=palette.CRITICAL),
    ),
    lines=True,
    maximum=1,
)

OUTCOMES = Signal(
    title="Outcomes",
    unit="reqps",
    expr=("sum by (outcome) (\n  model_version_outcome:tritonobs_requests:rate%(short)s{%(subject)s}\n)"),
    legend="{{outcome}}",
    description=(
        "The outcomes of requests, as the models count them; Triton itself counts an error reply of a "
        "Python model as a success. `invalid` is bad input, the client's fault. Good: nearly all "
        "`ok`. From `tritonobs_requests_total`."
    ),
    colours=tuple(palette.OUTCOMES.items()),
)

BY_VERSION = Signal(
    title="Traffic by version",
    unit="percentunit",
    expr=(
        "model_version:triton_requests:rate5m{%(subject)s}\n"
        "  / on (%(by_model)s) group_left ()\n"
        "(sum by (%(by_model)s) (model_version:triton_requests:rate5m{%(subject)s}) > 0)"
    ),
    legend="{{model}} {{version}}",
    description=(
        "The share of a model's requests that each version gets. Good: changes only "
        "with a rollout. From `model_version:triton_requests:rate5m`."
    ),
    maximum=1,
)

REPLICAS = Signal(
    title="Requests per second by replica",
    unit="reqps",
    expr="sum by (%(replica)s) (replica_model_version:triton_requests_succeeded:rate%(short)s{%(subject)s})",
    legend="{{%(replica)s}}",
    description=(
        "Successful requests of the chosen models on each replica. Good: equal lines; a balancer that "
        "favours one replica makes it slow before the others. From "
        "`replica_model_version:triton_requests_succeeded:rate…`."
    ),
)
