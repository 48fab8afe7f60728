"""A value that was refused has one finding: it is not missing as well."""

from __future__ import annotations

import pytest

from tritonobs.plan.build import check
from tritonobs.spec.load import read_text

HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'
FIELDS = [
    ("{pipeline: blss, calls: {b: 1}}", "pipeline"),
    ("{pipeline: , calls: {b: 1}}", "pipeline"),
    ("{pipeline: bls, calls: {b: one}}", "calls.b"),
    ("{pipeline: bls, calls: 7}", "calls"),
    ("{pipeline: bls, calls: }", "calls"),
    ("{slos: {up: {objective: 42%}}}", "slos.up.objective"),
    ("{slos: {up: {objective: }}}", "slos.up.objective"),
    ("{slos: {up: {objective: 99%, stage: decode, threshold: soon}}}", "slos.up.threshold"),
    ("{slos: {up: {objective: 99%, source: traces, threshold: soon}}}", "slos.up.threshold"),
]
MISSING = [
    ("{pipeline: bls}", "pipeline", "has no calls"),
    ("{pipeline: bls, calls: {}}", "pipeline", "has no calls"),
    ("{calls: {b: 1}}", "calls", "needs `pipeline`"),
    ("{slos: {up: {}}}", "slos.up", "has no objective"),
    ("{slos: {up: {objective: 99%, stage: decode}}}", "slos.up.stage", "has no threshold"),
    ("{slos: {up: {objective: 99%, source: traces}}}", "slos.up", "no threshold"),
]


def _found(model: str) -> list[tuple[str, str]]:
    """The field and the message of every finding about a model."""
    reading = read_text(f"{HEAD}models:\n  a: {model}\n  b: {{}}\n", "fleet.yaml")
    assert reading.spec is not None
    findings = (*reading.findings, *check(reading.spec))
    return [(finding.path.removeprefix("models.a."), finding.message) for finding in findings]


@pytest.mark.parametrize(("model", "field"), FIELDS)
def test_a_refused_value_is_reported_once(model: str, field: str) -> None:
    """The finding names the value that was found."""
    ((at, message),) = _found(model)

    assert at == field
    assert message.startswith("found ")


@pytest.mark.parametrize(("model", "field", "says"), MISSING)
def test_a_missing_value_is_reported(model: str, field: str, says: str) -> None:
    """The twin: without any value the finding says what is missing."""
    ((at, message),) = _found(model)

    assert at == field
    assert says in message


def test_a_free_mapping_names_no_fields() -> None:
    """Where the author chooses the names, there are none to list."""
    assert _found("{versions: 7}") == [("versions", 'found "7"; allowed is a mapping')]
