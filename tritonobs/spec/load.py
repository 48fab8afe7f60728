"""fleet.yaml → `Spec`, or everything that is wrong with it at once."""

from __future__ import annotations

import copy
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import ValidationError

from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import read_bytes
from tritonobs.findings import MOST_FINDINGS, Finding, Place, Severity, more_findings
from tritonobs.spec.alertmanager import read_alertmanager
from tritonobs.spec.problems import schema_finding
from tritonobs.spec.reading import read_document
from tritonobs.spec.schema import Spec
from tritonobs.spec.section import Mistakes
from tritonobs.spec.source import Source, Step
from tritonobs.spec.syntax import decode, syntax_finding

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_BYTES: Final = 4 * 1024 * 1024
"""Of the fleet file, and of all files it names together: ten thousand models with four hundred bytes each."""

# What the rest of the file is judged with where nothing right is left of a field: it gives no finding itself.
_REPLACED: Final[dict[str, Any]] = {
    "fleet": "fleet",
    "replicas": {"kubernetes": {"selector": "app=triton", "namespace": "default"}},
    "notify": {},
}


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
        data = unpacked(path, read_bytes(path, most=MAX_BYTES))
    except FileUnusable as error:
        return _unreadable(Finding(place=Place(file=str(path)), path="", message=error.reason))
    text, findings = decode(data, str(path))
    return _unreadable(*findings) if findings else read_text(text, str(path))


def unpacked(path: Path, data: bytes) -> bytes:
    """What a file ending in `.gz` holds (a large fleet file in a cluster is one); other data as they are.

    Raises:
        FileUnusable: it is damaged, or too large.
    """
    if path.suffix != ".gz":
        return data
    # 31 is a gzip header and the largest window (zlib's manual).
    reader = zlib.decompressobj(wbits=31)
    try:
        # Bounded, because 4 MiB of gzip may hold gigabytes.
        plain = reader.decompress(data, MAX_BYTES)
    except zlib.error:
        raise FileUnusable(path, "is no gzip file") from None
    if reader.unconsumed_tail:
        raise FileUnusable(path, f"holds more than {MAX_BYTES} bytes")
    if not reader.eof:
        raise FileUnusable(path, "ends too early for a gzip file")
    return plain


def read_text(text: str, file: str) -> Reading:
    """As `read_fleet`, from text that stands (or will stand) in `file`."""
    try:
        source = read_document(text, file)
    except yaml.YAMLError as error:
        return _unreadable(syntax_finding(error, text, file))
    if source.root.value is None and source.findings:
        return _unreadable(*source.findings)
    try:
        spec: Spec | None = Spec.model_validate(source.value(), context=Mistakes()).read_from(source)
        errors: list[ErrorDetails] = []
    except ValidationError as error:
        errors = [one for one in error.errors(include_url=False) if not _follows(one)]
        spec = _what_is_left(source, errors) if len(errors) <= MOST_FINDINGS else None
    findings = source.findings + [schema_finding(error, source, Spec) for error in errors[:MOST_FINDINGS]]
    # pydantic goes by the order of the schema, a reader by that of the file.
    findings.sort(key=lambda finding: (finding.place.line, finding.place.column))
    if len(errors) > MOST_FINDINGS:
        findings.append(more_findings(findings[-1].place, len(errors) - MOST_FINDINGS))
    own = _own_alertmanager(spec, Path(file).parent) if spec else ()
    return Reading(spec=spec, findings=(*findings, *own))


def _own_alertmanager(spec: Spec, base: Path) -> tuple[Finding, ...]:
    """Read the configuration that ours is merged into."""
    if spec.notify.alertmanager_file is None:
        return ()
    own, findings = read_alertmanager(base / spec.notify.alertmanager_file)
    spec.with_alertmanager(own)
    return findings


def _follows(error: ErrorDetails) -> bool:
    """Whether a list is only called too short because its entries were refused, each with a finding."""
    return error["type"] == "too_short" and bool(error["input"])


def _what_is_left(source: Source, errors: list[ErrorDetails]) -> Spec | None:
    """The spec without the values that were refused, or None when it cannot do without them."""
    # A copy, because findings still look up what was written.
    value: Any = copy.deepcopy(source.value())
    # A missing field leaves nothing to take out; an entry of a list that lacks one goes as a whole.
    refused = {
        _up_to_entry(source.written([step for step in error["loc"] if step != "[key]"])): error["type"]
        for error in errors
        if error["type"] != "missing" or any(isinstance(step, int) for step in error["loc"])
    }
    # Backwards, so that positions in a list stay true while entries leave it.
    for path, kind in reversed(refused.items()):
        _take_out(value, path, kind)
    # Once as it is, and once with what lost its last right value replaced.
    for _ in range(2):
        try:
            return Spec.model_validate(value).read_from(source)
        except ValidationError as error:
            lost = {str(step) for one in error.errors(include_url=False) for step in one["loc"][:1] or ("",)}
        if not lost <= _REPLACED.keys():
            break
        value.update({field: copy.deepcopy(_REPLACED[field]) for field in lost})
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
    # A model that is not a mapping still has a name that others may call.
    if kind.startswith("model") or kind == "dict_type":
        value[step] = {}
    elif isinstance(value, list) or step in value:
        del value[step]


def _unreadable(*findings: Finding) -> Reading:
    return Reading(spec=None, findings=findings)
