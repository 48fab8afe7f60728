"""Limits and objectives as series."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from tritonobs.plan.series import objective_series

if TYPE_CHECKING:
    from collections.abc import Callable

    from tritonobs.plan.fleet import Plan

NOW = datetime(2026, 11, 11, tzinfo=timezone.utc)


def _lines(plan: Plan) -> list[str]:
    """The samples as the text exposition would have them."""
    return [
        sample.name + "{" + ",".join(f'{name}="{value}"' for name, value in sample.labels.items()) + "} "
        f"{sample.value}"
        for sample in objective_series(plan, NOW)
    ]


def test_the_series_are_those_of_the_contract(plan_of: Callable[[str], Plan]) -> None:
    """Names, labels, units and values, for a model, its version, and the pipeline that calls it."""
    plan = plan_of(
        """\
        qps_limit: 90
        models:
          p:
            pipeline: bls
            calls: {detect: {model: a, per_request: 2}}
            tier: critical
            slos: {fast: {objective: 99.95%, threshold: 1s}}
          a: {team: vision, versions: {1: {qps_limit: 40}}}
        """
    )

    assert _lines(plan) == [
        'tritonobs_qps_limit{model="",version=""} 90',
        'tritonobs_qps_limit{model="p",version=""} 20',
        'tritonobs_qps_limit{model="a",version="1"} 40',
        'tritonobs_slo_objective_ratio{model="p",version="",slo="fast",tier="critical"} 0.9995',
        'tritonobs_latency_target_seconds{model="p",version="",slo="fast",stage="total",le="1"} 1',
        'tritonobs_model_info{model="p",version="",kind="bls",pipeline="p",team="",tier="critical"} 1',
        'tritonobs_model_info{model="a",version="",kind="model",pipeline="p",team="vision",tier=""} 1',
        'tritonobs_model_info{model="a",version="1",kind="model",pipeline="p",team="vision",tier=""} 1',
        'tritonobs_pipeline_calls{pipeline="p",stage="detect",model="a"} 2',
    ]


def test_what_charges_the_callers_fault_is_inherited(plan_of: Callable[[str], Plan]) -> None:
    """A row for each SLO that does; `ignored` ends it."""
    plan = plan_of(
        """\
        defaults: {slos: {availability: {objective: 99.9%, invalid: bad}}}
        models:
          a: {versions: {1: {slos: {availability: {objective: 99%}}}}}
          b: {slos: {availability: {invalid: ignored}, strict: {objective: 95%, invalid: bad}}}
        """
    )

    assert [line for line in _lines(plan) if "invalid" in line] == [
        'tritonobs_slo_invalid_charged{model="a",version="",slo="availability"} 1',
        'tritonobs_slo_invalid_charged{model="a",version="1",slo="availability"} 1',
        'tritonobs_slo_invalid_charged{model="b",version="",slo="strict"} 1',
    ]


def test_limits_of_tokens_are_inherited_by_kind(plan_of: Callable[[str], Plan]) -> None:
    """Fleet, model, version; each kind by itself, `unlimited` ends it, other models have none of it."""
    plan = plan_of(
        """\
        defaults: {tokens_per_second_limit: {tokens_in: 9000}}
        models:
          llm:
            tokens_per_second_limit: {tokens_out: 400}
            versions: {1: {}, 2: {tokens_per_second_limit: {tokens_in: unlimited, tokens_out: 0.5}}}
          nms: {tokens_per_second_limit: {tokens_in: unlimited}}
        """
    )

    assert [line for line in _lines(plan) if "tokens" in line] == [
        'tritonobs_tokens_per_second_limit{model="llm",version="",kind="tokens_in"} 9000',
        'tritonobs_tokens_per_second_limit{model="llm",version="",kind="tokens_out"} 400',
        'tritonobs_tokens_per_second_limit{model="llm",version="1",kind="tokens_in"} 9000',
        'tritonobs_tokens_per_second_limit{model="llm",version="1",kind="tokens_out"} 400',
        'tritonobs_tokens_per_second_limit{model="llm",version="2",kind="tokens_out"} 0.5',
    ]


def test_a_member_of_two_pipelines_belongs_to_neither(plan_of: Callable[[str], Plan]) -> None:
    """One row a model version, so that a join with it stays one to one."""
    plan = plan_of(
        """\
        models: {p: {pipeline: bls, calls: {a: 1}}, q: {pipeline: bls, calls: {a: 1}}, a: {versions: {1: {}}}}
        """
    )

    assert [line for line in _lines(plan) if 'model="a",version="1"' in line] == [
        'tritonobs_model_info{model="a",version="1",kind="model",pipeline="",team="",tier=""} 1'
    ]


def test_no_two_samples_are_the_same_series(plan_of: Callable[[str], Plan]) -> None:
    """Versions of an ensemble share Triton's version 1, and stand there once."""
    plan = plan_of(
        """\
        defaults: {qps_limit: 9, slos: {up: {objective: 99%}}}
        models:
          e: {pipeline: ensemble, calls: {a: 1}, versions: {2: {}, 3: {}}}
          a: {versions: {1: {}, 2: {}}}
        """
    )
    subjects = [line.rsplit(" ", 1)[0] for line in _lines(plan)]

    assert len(subjects) == len(set(subjects))
    assert [line for line in subjects if 'model="e"' in line and 'version="' in line] == [
        'tritonobs_qps_limit{model="e",version=""}',
        'tritonobs_qps_limit{model="e",version="1"}',
        'tritonobs_slo_objective_ratio{model="e",version="",slo="up",tier=""}',
        'tritonobs_slo_objective_ratio{model="e",version="1",slo="up",tier=""}',
        'tritonobs_model_info{model="e",version="",kind="ensemble",pipeline="e",team="",tier=""}',
        'tritonobs_model_info{model="e",version="1",kind="ensemble",pipeline="e",team="",tier=""}',
    ]
