"""fleet.yaml → `Spec`, or everything that is wrong with it at once."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from tritonobs.errors import SpecInvalid
from tritonobs.findings import Finding, Place, Severity
from tritonobs.spec.imported import read_openslo
from tritonobs.spec.problems import schema_finding
from tritonobs.spec.reading import read_document
from tritonobs.spec.schema import Spec
from tritonobs.spec.syntax import decode, syntax_finding
from tritonobs.spec.words import quoted

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from tritonobs.spec.source import Source, Step

MAX_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a fleet file says and what is wrong with it.

    With errors among the findings, `spec` is what is left when the wrong values are taken out, good enough to
    look for more that is wrong, or None when too little is left.
    """

    spec: Spec | None
    findings: tuple[Finding, ...]


def load_fleet(path: Path) -> Spec:
    """The fleet file at `path`.

    Raises:
        SpecInvalid: with every finding about syntax and fields, each with its place.
    """
    reading = read_fleet(path)
    errors = [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    if errors or reading.spec is None:
        raise SpecInvalid(errors)
    return reading.spec


def read_fleet(path: Path) -> Reading:
    """The fleet file at `path`, as far as it can be understood; never raises for what it holds."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return _unreadable(
            Finding(place=Place(file=str(path)), path="", message=f"cannot be read: {error.strerror}")
        )
    if len(data) > MAX_BYTES:
        message = f"has {len(data)} bytes; allowed are at most {MAX_BYTES}"
        return _unreadable(Finding(place=Place(file=str(path)), path="", message=message))
    text, findings = decode(data, str(path))
    return _unreadable(*findings) if findings else read_text(text, str(path))


def read_text(text: str, file: str) -> Reading:
    """As `read_fleet`, from text that stands (or will stand) in `file`."""
    try:
        source = read_document(text, file)
    except yaml.YAMLError as error:
        return _unreadable(syntax_finding(error, text, file))
    if source.root.value is None and source.findings:
        return _unreadable(*source.findings)
    try:
        spec: Spec | None = Spec.model_validate(source.value()).read_from(source)
        errors: list[ErrorDetails] = []
    except ValidationError as error:
        errors = [one for one in error.errors(include_url=False) if not _follows(one)]
        spec = _what_is_left(source, errors)
    findings = source.findings + [schema_finding(error, source, Spec) for error in errors]
    findings.sort(key=lambda finding: (finding.place.line, finding.place.column))
    return Reading(spec=spec, findings=(*findings, *(_import(spec, Path(file).parent) if spec else ())))


def _import(spec: Spec, base: Path) -> tuple[Finding, ...]:
    """Read the OpenSLO documents that the fleet file names."""
    files: list[Path] = []
    missing: list[Finding] = []
    for position, pattern in enumerate(spec.openslo):
        matches = sorted(base.glob(pattern)) if not Path(pattern).is_absolute() else [Path(pattern)]
        files += matches
        if not matches:
            missing.append(spec.source.finding(("openslo", position), f"no file matches {quoted(pattern)}"))
    slos, findings = read_openslo(files)
    spec.with_imported(slos, tuple(files))
    return (*missing, *findings)


def _follows(error: ErrorDetails) -> bool:
    """Whether a list is only called too short because its entries were refused, each with a finding."""
    return error["type"] == "too_short" and bool(error["input"])


def _what_is_left(source: Source, errors: list[ErrorDetails]) -> Spec | None:
    """The spec without the values that were refused, or None when it cannot do without them."""
    value = copy.deepcopy(source.value())
    refused = {
        _up_to_entry(source.written([step for step in error["loc"] if step != "[key]"])): error["type"]
        for error in errors
        if error["type"] != "missing" or any(isinstance(step, int) for step in error["loc"])
    }
    # Backwards, so that positions in a list stay true while entries leave it.
    for path, kind in reversed(refused.items()):
        _take_out(value, path, kind)
    try:
        return Spec.model_validate(value).read_from(source)
    except ValidationError:
        return None


def _up_to_entry(path: tuple[Step, ...]) -> tuple[Step, ...]:
    """An entry of a list goes as a whole."""
    first = next((depth for depth, step in enumerate(path) if isinstance(step, int)), len(path))
    return path[: first + 1]


def _take_out(value: Any, path: tuple[Step, ...], kind: str) -> None:  # noqa: ANN401 (anything the schema refused)
    for above in path[:-1]:
        if above not in value:
            return  # Another error took out what holds this one.
        value = value[above]
    step: Any = path[-1] if path else None
    if step is None:
        return
    # A model that is no mapping still has a name that others may call.
    if kind.startswith("model") or kind == "dict_type":
        value[step] = {}
    elif isinstance(value, list) or step in value:
        del value[step]


def _unreadable(*findings: Finding) -> Reading:
    return Reading(spec=None, findings=findings)
