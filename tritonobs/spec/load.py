"""fleet.yaml → `Spec`, or everything that is wrong with it at once.

A user's own `alertmanager.yml`, which our receivers, routes and inhibitions are merged into, is read with
it. Only what the merge needs is checked; amtool checks the rest. No finding shows a value of it: it may be
secret.
"""

from __future__ import annotations

import copy
import types
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from tritonobs.errors import FileUnusable, SpecInvalid
from tritonobs.files import read_bytes
from tritonobs.findings import (
    MOST_FINDINGS,
    Finding,
    Place,
    Severity,
    Source,
    Step,
    found,
    listed,
    more_findings,
)
from tritonobs.section import Mistakes
from tritonobs.spec.notify import OwnAlertmanager
from tritonobs.spec.reading import decode, read_document, syntax_finding
from tritonobs.spec.schema import DISCOVERY, LIST, Spec
from tritonobs.undo import Undo

MAX_BYTES: Final = 4 * 1024 * 1024
"""Of the fleet file, and of all files it names together: ten thousand models with four hundred bytes each."""
# Used to check the rest of the file where no valid value of a field is left; gives no finding itself.
_REPLACED: Final[dict[str, Any]] = {
    "fleet": "fleet",
    "replicas": {"kubernetes": {"selector": "app=triton", "namespace": "default"}},
    "notify": {},
}

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LISTS = ("receivers", "inhibit_rules", "templates")

_SECRETS = ("webhook", "secret", "token", "password", "credential")
# pydantic's mark of an error about a key: its place is the key's, not that of the value.
_KEY = "[key]"
_MARKS = frozenset((_KEY, LIST, DISCOVERY))
_SIZES = {
    "too_short": "is empty; allowed is at least one entry",
    "too_long": "has more than {most} entries, the most that is allowed",
    "string_too_short": 'found ""; allowed is a name',
    "string_too_long": "found {found}; allowed are at most {most} characters",
}
_ALLOWED = {
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "path_type": "the path of a file",
}
_ALERTMANAGER = "write it into your own alertmanager.yml, and name that file in notify.alertmanager_file"
# Fields of the release before, and what to write now.
_MOVED: dict[tuple[Step, ...], str] = {
    ("notify", "email"): _ALERTMANAGER,
    ("notify", "mail_server"): _ALERTMANAGER,
    ("notify", "wecom"): _ALERTMANAGER,
    ("notify", "mute_times"): _ALERTMANAGER,
    ("notify", "timing"): _ALERTMANAGER,
    ("notify", "alertmanager_version"): "leave it out; nothing depends on it any more",
    ("notify", "routes", "mute"): _ALERTMANAGER,
    ("notify", "routes", "go_on"): "write continue",
    ("openslo",): "write the SLOs under models or defaults",
}
_RENAMED: dict[Step, str] = {
    "latency_bounds": "write latency_buckets",
    "target": "write threshold",
    "promised": "write none in place of the SLO",
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
        return _unreadable(_finding(path, error.reason))
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
        raise FileUnusable(path, "is not a gzip file") from None
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
    _prepare()
    try:
        spec: Spec | None = Spec.model_validate(source.value(), context=Mistakes()).read_from(source)
        errors: list[ErrorDetails] = []
    except ValidationError as error:
        errors = [one for one in error.errors(include_url=False) if not _follows(one)]
        spec = _what_is_left(source, errors) if len(errors) <= MOST_FINDINGS else None
    findings = source.findings + [_schema_finding(error, source) for error in errors[:MOST_FINDINGS]]
    # pydantic goes by the order of the schema, a reader by that of the file.
    findings.sort(key=lambda finding: (finding.place.line, finding.place.column))
    if len(errors) > MOST_FINDINGS:
        findings.append(more_findings(findings[-1].place, len(errors) - MOST_FINDINGS))
    own = _own_alertmanager(spec, Path(file).parent) if spec else ()
    return Reading(spec=spec, findings=(*findings, *own))


def _prepare() -> None:
    """Build the validators of the sections, once; a signal ends the command when they are built.

    pydantic makes a `SchemaError` of what a signal raises meanwhile, and the command would end with that.
    """
    if not Spec.__pydantic_complete__:
        with Undo() as undo, undo.held():
            Spec.model_rebuild()


def _own_alertmanager(spec: Spec, base: Path) -> tuple[Finding, ...]:
    """Read the configuration that ours is merged into."""
    if spec.notify.alertmanager_file is None:
        return ()
    path = base / spec.notify.alertmanager_file
    own, findings = read_alertmanager(path)
    spec.with_alertmanager(own)
    # What has no place in that file, which may be missing, is about its name here.
    return tuple(
        finding
        if finding.place.line
        else spec.source.finding(("notify", "alertmanager_file"), f"{path}: {finding.message}")
        for finding in findings
    )


def _follows(error: ErrorDetails) -> bool:
    """Whether a list is only called too short because its entries were refused, each with a finding."""
    return error["type"] == "too_short" and bool(error["input"])


def _what_is_left(source: Source, errors: list[ErrorDetails]) -> Spec | None:
    """The spec without the values that were refused, or None when it cannot do without them."""
    # A copy, because findings still look up what was written.
    value: Any = copy.deepcopy(source.value())
    # A missing field leaves nothing to take out; an entry of a list that lacks one goes as a whole.
    refused = {
        _up_to_entry(source.written([step for step in error["loc"] if step not in _MARKS])): error["type"]
        for error in errors
        if error["type"] != "missing" or any(isinstance(step, int) for step in error["loc"])
    }
    # Backwards, so that positions in a list stay true while entries leave it.
    for path, kind in reversed(refused.items()):
        _take_out(value, path, kind)
    left = replace(source, moved=_positions(source, refused))
    # Once as it is, and once with what lost its last right value replaced.
    for _ in range(2):
        try:
            return Spec.model_validate(value).read_from(left)
        except ValidationError as error:
            lost = {str(step) for one in error.errors(include_url=False) for step in one["loc"][:1] or ("",)}
        if not lost <= _REPLACED.keys():
            break
        value.update({field: copy.deepcopy(_REPLACED[field]) for field in lost})
    return None


def _positions(source: Source, refused: Iterable[tuple[Step, ...]]) -> dict[tuple[Step, ...], list[int]]:
    """Of each list that lost entries, which positions are left: a later finding is about one of those."""
    lost: dict[tuple[Step, ...], set[Step]] = {}
    for path in refused:
        if path and isinstance(path[-1], int):
            lost.setdefault(path[:-1], set()).add(path[-1])
    found_there = {path: source.value(path) for path in lost}
    return {
        path: [position for position in range(len(entries)) if position not in lost[path]]
        for path, entries in found_there.items()
        if isinstance(entries, list)
    }


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


def read_alertmanager(path: Path) -> tuple[OwnAlertmanager | None, tuple[Finding, ...]]:
    """The file at `path`, or what is wrong with it; never raises for what it holds."""
    try:
        data = read_bytes(path, most=MAX_BYTES)
    except FileUnusable as error:
        return None, (_finding(path, error.reason),)
    text, findings = decode(data, str(path))
    config: Any = None
    try:
        # Our own reader first: it bounds depth and aliases before YAML's loader makes values of them.
        findings = findings or read_document(text, str(path)).findings
        if not findings:
            # With types, because it is written out again: `send_resolved: false` must not become a text.
            config = yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader)
            findings = list(_shape(read_document(text, str(path)), config))
    except yaml.YAMLError as error:
        findings = [syntax_finding(error, text, str(path))]
    except ValueError:  # For one, a date that does not exist.
        findings = [_finding(path, "holds a value that YAML does not allow")]
    if findings:
        return None, tuple(findings)
    return OwnAlertmanager(folder=path.resolve().parent, config=config), ()


def _shape(source: Source, config: object) -> Iterator[Finding]:
    if not isinstance(config, Mapping):
        yield source.finding((), "is not a mapping; allowed is Alertmanager's configuration")
        return
    for name in _LISTS:
        if not isinstance(config.get(name, []), list):
            yield source.finding((name,), "is not a list")
    receivers = config.get("receivers", [])
    for position, receiver in enumerate(receivers if isinstance(receivers, list) else ()):
        if not isinstance(receiver, Mapping) or not receiver.get("name"):
            yield source.finding(("receivers", position), "has no name")
    route = config.get("route")
    if not isinstance(route, Mapping) or not route.get("receiver"):
        yield source.finding(("route",), "has no receiver; Alertmanager needs one for alerts without a route")
    elif not isinstance(route.get("routes", []), list):
        yield source.finding(("route", "routes"), "is not a list")


def _finding(path: Path, message: str) -> Finding:
    return Finding(place=Place(file=str(path)), path="", message=message)


def _schema_finding(error: ErrorDetails, source: Source) -> Finding:
    """One of pydantic's errors in our words, at its place in the file."""
    path = tuple(step for step in error["loc"] if step not in _MARKS)
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        allowed = _fields(path[:-1])
        moved = _MOVED.get(_without_positions(path)) or _RENAMED.get(path[-1])
        hint = moved or source.guess(str(path[-1]), allowed)
        return source.finding(path, f"unknown field; allowed are {listed(allowed)}", hint=hint, key=True)
    if kind == "missing":
        field = _fields(path[:-1]).get(str(path[-1]))
        description = ((field.description if field else "") or "").rstrip(".")
        return source.finding(path, "is missing", hint=description, key=True)
    written = source.written(path)
    if kind == "literal_error":
        words = _words(error)
        message = f"found {_shown(path, value)}; allowed {'are' if len(words) > 1 else 'is'} {listed(words)}"
        return source.finding(written, message, hint=source.guess(str(value), words))
    return source.finding(written, _message(error, path), key=_KEY in error["loc"])


def _without_positions(path: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(step for step in path if not isinstance(step, int))


def _message(error: ErrorDetails, path: Sequence[Step]) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        fields = _fields(path)
        allowed = f"a mapping with {listed(fields)}" if fields else "a mapping"
        return f"found {_shown(path, value)}; allowed is {allowed}"
    if kind in _SIZES:
        return _SIZES[kind].format(most=context.get("max_length"), found=_shown(path, value))
    if kind in _ALLOWED:
        return f"found {_shown(path, value)}; allowed is {_ALLOWED[kind]}"
    if kind == "string_pattern_mismatch":
        return f"found {_shown(path, value)}; allowed is text that matches {context['pattern']}"
    return f"found {_shown(path, value)}; {error['msg'].removeprefix('Input ')}"


def _shown(path: Sequence[Step], value: object) -> str:
    """The value as found, unless the field's name says that it may be a secret."""
    name = str(path[-1]).lower() if path else ""
    secret = isinstance(value, str) and any(word in name or word in value.lower() for word in _SECRETS)
    return "a text (not shown, it may be a secret)" if secret else found(value)


def _words(error: ErrorDetails) -> list[str]:
    # pydantic's error holds the allowed words only as one text: `'a', 'b' or 'c'`.
    expected = str(error.get("ctx", {}).get("expected", ""))
    return [word.strip("' ") for word in expected.replace(" or ", ", ").split(", ")]


def _fields(path: Sequence[Step]) -> dict[str, FieldInfo]:
    """The fields allowed in the mapping at `path`, by the names their authors write."""
    at = _type_at(path)
    return _named(at) if isinstance(at, type) and issubclass(at, BaseModel) else {}


def _named(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _type_at(path: Sequence[Step]) -> Any:  # noqa: ANN401 (an annotation can be any value)
    """The annotation of the value at `path`."""
    at: Any = Spec
    for position, step in enumerate(path):
        if isinstance(at, type) and issubclass(at, BaseModel):
            field = _named(at).get(str(step))
            positions = position + 1 < len(path) and isinstance(path[position + 1], int)
            at = _bare(field.annotation, positions=positions) if field else None
        elif get_origin(at) in (dict, tuple, list):
            at = _bare(get_args(at)[1 if get_origin(at) is dict else 0])
        else:
            return None
    return at


def _bare(annotation: Any, *, positions: bool = False) -> Any:  # noqa: ANN401 (as above)
    """Without `Annotated[…]` and `| None`; of a list or a mapping the list, if `positions` follow."""
    while True:
        if hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        elif get_origin(annotation) in (Union, types.UnionType):
            parts = [part for part in get_args(annotation) if part is not types.NoneType]
            annotation = parts[0] if positions else parts[-1]
        else:
            return annotation
