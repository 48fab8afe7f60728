"""Limits: inheritance, pipelines in both directions, and time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from tritonobs.plan.fleet import Model, Plan, QpsLimit
from tritonobs.plan.kubernetes import AnnotatedObject
from tritonobs.plan.limits import Annotated, annotated_limits, limits_at, overrides
from tritonobs.units import format_number

NOON = datetime(2026, 11, 11, 12, tzinfo=timezone.utc)


def _in_force(plan: Plan, now: datetime = NOON) -> dict[str, str]:
    """`model@version` (`@` alone is the fleet) to its limit at a moment."""
    limits = list(limits_at(plan.limits, now))
    subjects = {f"{limit.model}@{limit.version}": format_number(limit.qps) for limit in limits}
    assert len(subjects) == len(limits), "two limits for one subject at one time"
    return subjects


CASES = [
    pytest.param(
        "models: {a: {versions: {1: {}}}}",
        {},
        id="no limit anywhere is no limit",
    ),
    pytest.param(
        "qps_limit: 100\nmodels: {a: {}}",
        {"@": "100"},
        id="a limit of the fleet is no limit of a model",
    ),
    pytest.param(
        """\
        defaults: {qps_limit: 5}
        models:
          a: {versions: {1: {}, 2: {qps_limit: 3}}}
          b: {qps_limit: 7, versions: {1: {}, 2: {qps_limit: unlimited}}}
          c: {qps_limit: unlimited, versions: {1: {}, 2: {qps_limit: 2}}}
        """,
        {"a@": "5", "a@1": "5", "a@2": "3", "b@": "7", "b@1": "7", "c@2": "2"},
        id="fleet defaults, then model, then version, and unlimited ends it",
    ),
    pytest.param(
        "models: {p: {pipeline: bls, calls: {a: 3}, qps_limit: 10}, a: {versions: {1: {}}}}",
        {"p@": "10", "a@": "30", "a@1": "30"},
        id="a pipeline gives its member a limit by its calls",
    ),
    pytest.param(
        """\
        models:
          p: {pipeline: bls, calls: {first: {model: a, per_request: 1}, again: {model: a, per_request: 0.5}},
              qps_limit: 10}
          a: {}
        """,
        {"p@": "10", "a@": "15"},
        id="two stages of one model add up, half a call counts half",
    ),
    pytest.param(
        """\
        models:
          p: {pipeline: bls, calls: {a: 1}, qps_limit: 10}
          q: {pipeline: ensemble, calls: {a: 2}, qps_limit: 4}
          a: {}
        """,
        {"p@": "10", "q@": "4", "a@": "18"},
        id="a member of two pipelines gets what both may cause",
    ),
    pytest.param(
        """\
        models:
          p: {pipeline: bls, calls: {a: 1}, qps_limit: 10}
          q: {pipeline: ensemble, calls: {a: 2}}
          a: {}
        """,
        {"p@": "10"},
        id="a member that one pipeline may call at will has no limit",
    ),
    pytest.param(
        "models: {p: {pipeline: bls, calls: {a: 4, b: 1}}, a: {qps_limit: 20}, b: {qps_limit: 7}}",
        {"p@": "5", "a@": "20", "b@": "7"},
        id="the tightest member caps a pipeline without a limit",
    ),
    pytest.param(
        "models: {p: {pipeline: bls, calls: {a: 3}, qps_limit: 20}, a: {qps_limit: 10}}",
        {"p@": "3.33333333", "a@": "10"},
        id="a member caps a pipeline below its own limit, rounded down",
    ),
    pytest.param(
        "models: {p: {pipeline: bls, calls: {a: 3}, qps_limit: unlimited}, a: {qps_limit: 10}}",
        {"a@": "10"},
        id="unlimited is not capped",
    ),
    pytest.param(
        """\
        models:
          outer: {pipeline: ensemble, calls: {inner: 2, c: 1}, qps_limit: 10}
          inner: {pipeline: bls, calls: {b: 3, c: 1}}
          b: {}
          c: {}
        """,
        {"outer@": "10", "inner@": "20", "b@": "60", "c@": "30"},
        id="fan-out multiplies through nested pipelines",
    ),
    pytest.param(
        """\
        models:
          outer: {pipeline: ensemble, calls: {inner: 2}}
          inner: {pipeline: bls, calls: {b: 3}}
          b: {qps_limit: 60}
        """,
        {"outer@": "10", "inner@": "20", "b@": "60"},
        id="a cap reaches up through nested pipelines",
    ),
    pytest.param(
        """\
        models:
          p: {pipeline: bls, calls: {a: 1}, qps_limit: 10}
          a: {versions: {1: {qps_limit: 4}, 2: {qps_limit: 5}}}
        """,
        {"p@": "9", "a@1": "4", "a@2": "5"},
        id="versions with limits of their own cap with their sum",
    ),
    pytest.param(
        """\
        models:
          p: {pipeline: bls, calls: {a: 1}, qps_limit: 10}
          a: {versions: {1: {qps_limit: 4}, 2: {}}}
        """,
        {"p@": "10", "a@1": "4"},
        id="a version without a limit leaves the model open",
    ),
    pytest.param(
        "models: {e: {pipeline: ensemble, calls: {a: 1}, qps_limit: 6, versions: {3: {}, 4: {}}}, a: {}}",
        {"e@": "6", "e@1": "6", "a@": "6"},
        id="an ensemble stands once, under the version Triton counts it at",
    ),
]


@pytest.mark.parametrize(("text", "limits"), CASES)
def test_limits_follow_inheritance_and_pipelines(
    plan_of: Callable[[str], Plan], text: str, limits: dict[str, str]
) -> None:
    """Exactly these subjects have a limit, and exactly this one."""
    assert _in_force(plan_of(text)) == limits


SALE = """\
models:
  p: {pipeline: bls, calls: {a: 2}, qps_limit: 8,
      scheduled_limits: [{qps_limit: 20, valid_from: 2026-11-11T00:00+08:00,
                          valid_until: 2026-11-12T00:00+08:00, reason: sale}]}
  a: {scheduled_limits: [{qps_limit: 30, valid_from: 2026-11-11T20:00+08:00}]}
  other: {qps_limit: 1}
"""


@pytest.mark.parametrize(
    ("now", "limits"),
    [
        pytest.param("2026-11-10T23:59:59+08:00", {"p@": "8", "a@": "16"}, id="the second before"),
        pytest.param(
            "2026-11-11T00:00:00+08:00", {"p@": "20", "a@": "40"}, id="the first second of the sale"
        ),
        pytest.param("2026-11-11T20:00:00+08:00", {"p@": "15", "a@": "30"}, id="a member's own limit begins"),
        pytest.param("2026-11-12T00:00:00+08:00", {"p@": "8", "a@": "30"}, id="the sale is over"),
        pytest.param("2036-01-01T00:00:00+08:00", {"p@": "8", "a@": "30"}, id="years later"),
    ],
)
def test_limits_change_at_their_moment_and_pipelines_with_them(
    plan_of: Callable[[str], Plan], now: str, limits: dict[str, str]
) -> None:
    """From the first second until just before the last, in whatever time zone it was written."""
    assert _in_force(plan_of(SALE), datetime.fromisoformat(now)) == {**limits, "other@": "1"}


def test_pieces_of_one_subject_never_overlap_nor_leave_a_hole(plan_of: Callable[[str], Plan]) -> None:
    """What stays the same over a change elsewhere is one piece, not two."""
    plan = plan_of(SALE)
    pieces = [(limit.valid_from, limit.valid_until) for limit in plan.limits if limit.model == "p"]

    assert pieces[0][0] is None
    assert pieces[-1][1] is None
    assert [end for _, end in pieces[:-1]] == [start for start, _ in pieces[1:]]
    assert [limit.valid_from for limit in plan.limits if limit.model == "other"] == [None]


def test_every_limit_says_what_it_comes_from(plan_of: Callable[[str], Plan]) -> None:
    """The field, the default, or the arithmetic of the pipeline."""
    plan = plan_of(
        """\
        defaults: {qps_limit: 50}
        models:
          p: {pipeline: bls, calls: {a: 4, b: 2}, qps_limit: 9}
          q: {pipeline: bls, calls: {c: 2}, qps_limit: 3}
          a: {qps_limit: 20}
          b: {}
          c: {qps_limit: unlimited}
        """
    )
    origins = {limit.model: limit.origin for limit in plan.limits}
    assert origins == {
        "p": "capped by a (20 / 4)",
        "q": "models.q.qps_limit",
        "a": "models.a.qps_limit",
        "b": "defaults.qps_limit",
    }


def test_thousands_of_schedules_stay_quick_to_resolve(plan_of: Callable[[str], Plan]) -> None:
    """Models that have nothing to do with each other do not multiply each other's pieces of time."""
    begin = datetime(2026, 1, 1, tzinfo=timezone.utc)
    lines = ["models:"]
    for number in range(2000):
        moment = (begin + timedelta(hours=number)).isoformat()
        lines.append(
            f"  m{number}: {{qps_limit: 1, scheduled_limits: [{{qps_limit: 2, valid_from: '{moment}'}}]}}"
        )

    assert len(plan_of("\n".join(lines)).limits) == 4000


MODELS = (Model(name="inspect", versions=("1", "2")), Model(name="nms", versions=()))
QPS = "tritonobs.dev/max-qps"
RIVAL = "has a limit for the same model; the lower one is in force"
ALLOWED = "allowed is a number from 0.001 to 1000000 (requests per second), or unlimited"


def _deployment(name: str = "inspect", namespace: str = "shop", **annotations: str) -> AnnotatedObject:
    named = {key.replace("max_qps", QPS).replace("_", "."): text for key, text in annotations.items()}
    named = {key if "/" in key else f"tritonobs.dev/{key}": text for key, text in named.items()}
    return AnnotatedObject(namespace=namespace, name=name, annotations=named)


def _told(*deployments: AnnotatedObject, last: dict[str, QpsLimit] | None = None) -> dict[str, str]:
    limits = overrides(annotated_limits(deployments, MODELS, last or {}).limits.values())
    return {f"{model}@{version}": f"{limit.qps:f}" for (model, version), limit in limits.items()}


def _lines(found: Annotated) -> list[str]:
    return [f"{origin}: {complaint}" for origin, complaint in found.complaints.items()]


def test_annotations_are_limits_of_the_model_and_its_versions() -> None:
    """The Deployment's own name is the model, unless an annotation names another."""
    assert _told(
        _deployment(max_qps="8.5", max_qps_2=" 3 "),
        _deployment("triton-nms", model="nms", max_qps="unlimited"),
    ) == {"inspect@": "8.5", "inspect@2": "3", "nms@": "Infinity"}


COMPLAINTS = [
    pytest.param(
        _deployment(max_qps="-1"),
        f'Deployment shop/inspect {QPS}: found "-1"; {ALLOWED}',
        id="a negative number",
    ),
    pytest.param(
        _deployment(max_qps_3="5"),
        f'Deployment shop/inspect {QPS}.3: "3" is not a version of inspect; there are 1 and 2',
        id="an unknown version",
    ),
    pytest.param(
        _deployment("inspct", max_qps="5"),
        f'Deployment shop/inspct {QPS}: "inspct" is not a model of this fleet (did you mean inspect?)',
        id="a name close to a model",
    ),
    pytest.param(
        _deployment("web", max_qps="5"),
        f'Deployment shop/web {QPS}: "web" is not a model of this fleet; '
        "name one in the annotation tritonobs.dev/model",
        id="a name like no model",
    ),
]


@pytest.mark.parametrize(("deployment", "complaint"), COMPLAINTS)
def test_what_cannot_be_meant_is_told_and_limits_nothing(deployment: AnnotatedObject, complaint: str) -> None:
    """Which Deployment, which annotation, what was found, what is allowed."""
    found = annotated_limits([deployment], MODELS, {})

    assert (dict(found.limits), _lines(found)) == ({}, [complaint])


def test_a_value_spoilt_later_leaves_the_last_good_one() -> None:
    """A typo does not lift a limit."""
    last = annotated_limits([_deployment(max_qps="8")], MODELS, {}).limits
    found = annotated_limits([_deployment(max_qps="8o")], MODELS, last)

    assert [limit.qps for limit in found.limits.values()] == [Decimal(8)]
    assert _lines(found) == [f'Deployment shop/inspect {QPS}: found "8o"; {ALLOWED}; 8 stays in force']


def test_an_annotation_taken_away_is_gone() -> None:
    """That is a decision, not a mistake."""
    last = annotated_limits([_deployment(max_qps="8")], MODELS, {}).limits

    assert _told(_deployment(), last=dict(last)) == {}


def test_of_two_deployments_for_one_model_the_lower_limit_counts_and_both_are_told() -> None:
    """Two clusters' worth of annotations must not let more through than either says."""
    deployments = [_deployment(max_qps="8"), _deployment("canary", model="inspect", max_qps="5")]

    assert _told(*deployments) == {"inspect@": "5"}
    assert _lines(annotated_limits(deployments, MODELS, {})) == [
        f"Deployment shop/inspect {QPS}: Deployment shop/canary {QPS} {RIVAL}"
    ]
