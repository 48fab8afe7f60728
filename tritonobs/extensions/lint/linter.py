"""Files → findings, and certain changes back into the files.

Everything is read first, because an alert may cover series of another file. A file is changed as a whole or
not at all, and everything else in it stays as it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from tritonobs import files
from tritonobs.errors import FileUnusable
from tritonobs.extensions.lint.catalogue import catalogue
from tritonobs.extensions.lint.checks import CHECKS
from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, Known, Settings, edited
from tritonobs.extensions.lint.expression import Expression, substituted, suppressed, suppressions
from tritonobs.extensions.lint.located import Located, Source, Unreadable, part, spliced, whole
from tritonobs.extensions.lint.mixins import SUFFIXES as JSONNET
from tritonobs.extensions.lint.mixins import Mixins, Value
from tritonobs.extensions.lint.objects import TEMPLATE, Found, read_documents
from tritonobs.extensions.lint.shapes import Shape, shapes_of_records
from tritonobs.extensions.lint.tree import Call, Selector, Unparsed, parse, selectors, walk
from tritonobs.findings import Finding, Place, Severity
from tritonobs.render.jsonnet import NOTHING, External, Refused

if TYPE_CHECKING:
    # It brings the library of connections.
    from tritonobs.extensions.lint.live import Live

MAX_BYTES: Final = 16 * 1024 * 1024
_MARK: Final = b"\xef\xbb\xbf"
# Series of vLLM and of cards alone are another system's: such a file is read only if it is named.
_MENTIONS = re.compile(r"\bnv_\w|triton", re.IGNORECASE)
_SERIES = re.compile(
    r"\bnv_(?:inference|gpu|cpu|cache|energy|model|pinned|trt_llm|llm)_|\bvllm:\w|\btritonobs_"
)
_BLOCK = re.compile(r"(?:^[ \t]*\S.*\n?)+", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*[^\s#].*", re.MULTILINE)
_REMARK = re.compile(r"^[ \t]*#(.*)", re.MULTILINE)
_REPEATED: Final = re.compile(r"[*+{]")
_NESTED: Final = re.compile(r"\)[*+?{]")
_LONGEST, _MOST_REPEATED = 200, 3
MARKUP: Final = frozenset((".md", ".markdown"))
_QUERIES: Final = frozenset((".promql", ".query"))
_DOCUMENTS: Final = frozenset(("yaml", "yml", "json"))

_SENT: Final = frozenset(("TritonobsTest",))
"""Alerts that no rule has: `tritonobs notify` sends it."""

OWN: Final = {
    "unparsed": Severity.ERROR,
    "unreadable": Severity.ERROR,
    "template": Severity.INFO,
    "unknown-alert": Severity.WARNING,
    "bare-suppression": Severity.WARNING,
    "not-here": Severity.WARNING,
    "empty-here": Severity.WARNING,
    "fails-here": Severity.ERROR,
    "always-here": Severity.WARNING,
    "never-here": Severity.INFO,
    "fired-here": Severity.INFO,
    "rarely-here": Severity.INFO,
    "unasked-here": Severity.INFO,
}
"""Findings that are no check of an expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is asked for: `select` takes only some checks (none: all), `ignore` leaves some out.

    Jsonnet reads files below `roots` (none: beside the file), and below `libraries`, where it looks for them;
    `external` are its variables.
    """

    settings: Settings = field(default_factory=Settings)
    select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    roots: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = ()
    external: External = NOTHING

    def wants(self, name: str) -> bool:
        """Whether a check or a finding of this id is asked for."""
        return name not in self.ignore and (not self.select or name in self.select)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Edit):
    """An edit of a file; `was` is what stands there."""

    was: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A finding, the id of its check, the name of what it is in, and the changes that mend it."""

    id: str
    finding: Finding
    name: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All problems in the order of files and lines, and how many files and expressions were read."""

    problems: tuple[Problem, ...]
    files: int
    expressions: int


def lint_files(given: Iterable[tuple[Path, bool]], options: Options, live: Live | None = None) -> Result:
    """The problems of files; each is given with whether it was named itself or found in a folder.

    A file that was found in a folder and is not about Triton is skipped. `live` says what a running
    Prometheus answers.
    """
    linter = Linter(options)
    for path, named in given:
        linter.read_file(path, named=named)
    return linter.result(live)


class Linter:
    """Reads files, then judges all of them together."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._found, self._files = Found(), 0
        self._mixins = Mixins(options.roots, options.libraries, _MENTIONS, options.external)
        self._problems: list[Problem] = []
        self._left: list[Path] = []
        self._recorded: re.Pattern[str] | None = None

    def read_file(self, path: Path, *, named: bool) -> None:
        """Read a file; one that cannot be read is a problem."""
        try:
            data = files.read_bytes(path, most=MAX_BYTES)
            text = data.decode("utf-8-sig")
        except FileUnusable as error:
            # A pipe or a device in a folder is not a file of rules.
            if named or not error.reason.startswith("is "):
                self._say("unreadable", Place(file=str(path)), error.reason)
            return
        except UnicodeDecodeError as error:
            if named or _MENTIONS.search(data.decode("utf-8", errors="replace")):
                line = data[: error.start].count(b"\n") + 1
                self._say(
                    "unreadable",
                    Place(file=str(path), line=line),
                    f"byte {error.start + 1} is not UTF-8 text",
                )
            return
        # A file of jsonnet may mention Triton only in what it imports.
        if named or path.suffix.lower() in JSONNET or self._mentions(text):
            self.read_text(text, str(path), named=named)
        else:
            self._left.append(path)

    def _mentions(self, text: str) -> bool:
        return (_MENTIONS if self._recorded is None else self._recorded).search(text) is not None

    def _records(self) -> Mapping[str, Shape]:
        """What records measure; files that name no series of Triton but a record of some are read for it."""
        shapes, before = self._shapes(), len(self._found.expressions)
        left, self._left = self._left, []
        if shapes and left:
            self._recorded = re.compile("|".join(map(re.escape, shapes)))
            for path in left:
                self.read_file(path, named=False)
        return shapes if len(self._found.expressions) == before else self._shapes()

    def _shapes(self) -> Mapping[str, Shape]:
        return shapes_of_records(self._found.expressions, reasons=self._options.settings.reasons)

    def read_text(self, text: str, file: str, *, named: bool = True) -> None:
        """Read a text that stands in `file`."""
        suffix = Path(file).suffix.lower()
        if suffix in JSONNET:
            self._mixins.add(file, text, named=named)
            return
        self._files += 1
        source = Source(file, text)
        if suffix in MARKUP:
            self._markup(source)
        elif suffix in _QUERIES:
            self._queries(whole(source))
        else:
            self._documents(whole(source), named=named)

    def result(self, live: Live | None = None) -> Result:
        """Judge everything that was read."""
        for value in self._mixins.values():
            self._value(value)
        known = self._known(self._records())
        for expression in self._found.expressions:
            self._judge(expression, known, live)
        self._routes(known)
        for text in self._found.templates:
            if _SERIES.search(text):
                message = "holds a template: render it first, as with `helm template … | tritonobs lint -`"
                self._say("template", _place(text, 0), message)
        unlike: dict[tuple[str, Place, str], Problem] = {}
        for one in self._problems:
            # The first, because a board that jsonnet reads, too, can be mended where it stands itself.
            unlike.setdefault((one.id, one.finding.place, one.finding.message), one)
        ordered = sorted(unlike.values(), key=lambda one: astuple(one.finding.place))
        wanted = tuple(one for one in ordered if self._options.wants(one.id))
        return Result(problems=wanted, files=self._files, expressions=len(self._found.expressions))

    def _documents(self, text: Located, *, named: bool) -> None:
        try:
            read_documents(text, self._found)
        except Unreadable as error:
            place = _place(text, error.offset) if error.offset >= 0 else Place(file=text.source.file)
            if TEMPLATE.search(text):
                message = "is a template: render it first, as with `helm template … | tritonobs lint -`"
                if named or _SERIES.search(text):
                    self._say("template", Place(file=text.source.file), message)
            else:
                self._say("unreadable", place, str(error))

    def _value(self, value: Value) -> None:
        """What a file of jsonnet evaluates to, with each expression where it is written."""
        self._files += 1
        first = len(self._found.expressions)
        refused = value.outcome if isinstance(value.outcome, Refused) else value.outcome.refused
        if refused:
            self._refused(value, refused)
        try:
            read_documents(value.text, self._found)
        except Unreadable as error:
            self._say("unreadable", Place(file=value.source.file), f"its value is {error}")
        self._found.expressions[first:] = map(value.placed, self._found.expressions[first:])

    def _refused(self, value: Value, outcome: Refused) -> None:
        file = value.source.file
        place = Place(file=outcome.file, line=outcome.line, column=outcome.column)
        reason = outcome.reason if outcome.file == file else f"evaluating {file}: {outcome.reason}"
        if outcome.incomplete:
            given = "give it with --ext-str or --ext-code, or " if "external variable" in reason else ""
            reason += f"; {given}evaluate it first, as with `jsonnet … | tritonobs lint -`"
        # A library found in a folder need not have a value of its own.
        library = not value.named and Path(file).suffix.lower() == ".libsonnet"
        self._say("template" if outcome.incomplete or library else "unreadable", place, reason)

    def _queries(self, text: Located, words: str = "") -> None:
        """A file of queries: one, or several with empty lines between them, or one a line."""
        if _parses(text):
            self._plain(text, words)
            return
        for block in _BLOCK.finditer(text):
            piece = part(text, block.start(), block.end())
            lines = list(_LINE.finditer(piece))
            queries = [part(piece, one.start(), one.end()) for one in lines]
            if not lines:
                continue
            if len(lines) == 1 or _parses(piece) or not all(map(_parses, queries)):
                self._plain(piece, words)
                continue
            # A remark above a query says what it is.
            ends = [0, *(one.end() for one in lines)]
            for line, query, end in zip(lines, queries, ends, strict=False):
                self._plain(query, f"{words}\n{piece[end : line.start()]}")

    def _plain(self, text: Located, words: str) -> None:
        words = "\n".join((words, *_REMARK.findall(text)))
        self._found.expressions.append(Expression(text=text, use="plain", words=words, grafana=True))

    def _markup(self, source: Source) -> None:
        """Blocks of code that say they are PromQL, YAML or JSON; the text above one says what it is."""
        words = ""
        for token in MarkdownIt().parse(source.text):
            words = token.content if token.type == "inline" else words
            language = token.info.strip().split(" ")[0].lower() if token.type == "fence" else ""
            if not token.map or language not in (*_DOCUMENTS, "promql"):
                continue
            text = _fenced(source, token.map[0] + 2, token.content)
            if language == "promql":
                self._queries(text, words)
                continue
            with suppress(Unreadable):
                read_documents(text, self._found)

    def _known(self, shapes: Mapping[str, Shape]) -> Known:
        watched = any(_watches(one) for one in self._found.expressions if one.use == "alert")
        return Known(
            records=frozenset(self._found.records),
            shapes=shapes,
            alerts=frozenset(self._found.alerts),
            watched=watched,
        )

    def _judge(self, expression: Expression, known: Known, live: Live | None) -> None:
        silent = suppressions(expression)
        answered = live(expression) if live else ()
        told = (_problem(expression, name, OWN[name], hit) for name, hit in answered)
        for problem in (*self._hits(expression, known, live), *told):
            if not suppressed(problem.id, silent):
                self._problems.append(problem)
        for one in silent:
            if not one.reason:
                message = "has no reason; write # tritonobs: ignore=ID because …"
                place = Place(file=expression.text.source.file, line=one.line, column=1)
                self._say("bare-suppression", place, message)

    def _hits(self, expression: Expression, known: Known, live: Live | None) -> Iterator[Problem]:
        context = Context(expression=expression, settings=self._options.settings, known=known)
        try:
            tree = context.tree
        except Unparsed as error:
            # Another dialect, or a variable that holds more than a value, is ignored.
            if expression.settings.get("dialect"):
                return
            if _SERIES.search(expression.text) and "$" not in expression.text and "[[" not in expression.text:
                hint = (
                    "a rate needs a window, as in rate(…[5m])" if "expected type matrix" in str(error) else ""
                )
                hit = Hit(start=error.offset, message=str(error), hint=hint)
                yield _problem(expression, "unparsed", OWN["unparsed"], hit)
            return
        if not any(
            one.name
            and (
                catalogue().find(one.name)
                or one.name in known.shapes
                or not catalogue().foreign(one.name)
                or one.name.startswith("vllm:")
            )
            for one in selectors(tree)
        ):
            return
        for check in CHECKS.values():
            if self._options.wants(check.id):
                for raw in check.run(context):
                    hit = raw if _parses_edited(expression, raw) else replace(raw, edits=())
                    here = live.mended(expression, hit.edits) if live and hit.edits else ""
                    told = replace(hit, message=f"{hit.message}; {here}") if here else hit
                    yield _problem(expression, check.id, check.severity, told)

    def _routes(self, known: Known) -> None:
        if not any("triton" in name.lower() for name in known.alerts):
            return
        for text, name, regex in self._found.routes:
            if "triton" not in name.lower() or name in _SENT:
                continue
            there = name in known.alerts if not regex else any(_matches(name, one) for one in known.alerts)
            if not there:
                message = f"routes {name!r}, and no rule of these files has such an alert"
                self._say("unknown-alert", _place(text, 0), message)

    def _say(self, name: str, place: Place, message: str) -> None:
        finding = Finding(place=place, path=name, message=message, severity=OWN[name])
        self._problems.append(Problem(id=name, finding=finding))


def _fenced(source: Source, line: int, content: str) -> Located:
    """A block of code, from a line on; in a list its lines are indented, and their ends may be Windows'."""
    text, pieces = whole(source), list[tuple[str, Located | None]]()
    for number, written in enumerate(content.splitlines(keepends=True), line):
        begin = source.offset_of(number) + max(source.line(number).find(written.rstrip("\n")), 0)
        pieces.append((written, part(text, begin, begin + len(written))))
    return spliced(pieces, text)


def _problem(expression: Expression, name: str, severity: Severity, hit: Hit) -> Problem:
    text = expression.text
    changes = [_change(text, edit) for edit in hit.edits]
    if hit.unit and expression.unit_text is not None:
        changes.append(_change(expression.unit_text, Edit(start=0, end=len(expression.unit), text=hit.unit)))
    whole_fix = tuple(one for one in changes if one) if all(changes) else ()
    finding = Finding(
        place=_place(text, hit.start),
        path=name,
        message=f"{expression.name}: {hit.message}" if expression.name else hit.message,
        hint=hit.hint,
        severity=severity if hit.severity is None else hit.severity,
    )
    return Problem(id=name, finding=finding, name=expression.name, changes=whole_fix)


def _change(text: Located, edit: Edit) -> Change | None:
    """The edit in the file, or None where the file has other characters there than the expression."""
    held = text.written(edit.start, edit.end)
    if not held:
        return None
    start, end = held
    return Change(start=start, end=end, was=text.source.text[start:end], text=edit.text)


def _place(text: Located, position: int) -> Place:
    line, column = text.place(position)
    return Place(file=text.source.file, line=line, column=column)


def _parses_edited(expression: Expression, hit: Hit) -> bool:
    """Whether the text is still an expression after the edits: brackets may be in unexpected places."""
    text = edited(expression.text, hit.edits)
    return not hit.edits or _parses(substituted(text) if expression.grafana else text)


def _parses(text: str) -> bool:
    try:
        parse(text)
    except Unparsed:
        return False
    return True


def _watches(expression: Expression) -> bool:
    """Whether an alert fires on series that are missing, or on targets that are down."""
    try:
        nodes = list(walk(expression.tree))
    except Unparsed:
        return False
    for node, _ in nodes:
        if isinstance(node, Selector) and node.name == "up":
            return True
        if isinstance(node, Call) and node.func.startswith("absent"):
            return any(catalogue().find(one.name) for one in selectors(node))
    return False


def _matches(pattern: str, name: str) -> bool:
    """Whether an alert is one that a route names; yes where trying it could take any time."""
    # Alertmanager's engine needs time for the length of a name only, Python's for all ways to divide it.
    if len(name) > _LONGEST or len(_REPEATED.findall(pattern)) > _MOST_REPEATED or _NESTED.search(pattern):
        return True
    try:
        return re.fullmatch(pattern, name) is not None
    except (re.error, RecursionError, OverflowError):
        return True


def fix(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Write the certain changes; the problems that they mend.

    Where two overlap, the first is made. Where a file is not as it was read, none is.

    Raises:
        FileUnusable: a file cannot be read or written; those before it are written.
    """
    by_file: dict[str, list[Problem]] = defaultdict(list)
    for one in problems:
        if one.changes:
            by_file[one.finding.place.file].append(one)
    mended: list[Problem] = []
    for file, those in by_file.items():
        path = Path(file)
        data = files.read_bytes(path, most=MAX_BYTES)
        mark = _MARK if data.startswith(_MARK) else b""
        text = data.decode("utf-8-sig")
        made, done = _changed(text, those)
        if made != text:
            files.replace(path, mark + made.encode())
        mended += done
    return tuple(mended)


def _changed(text: str, problems: list[Problem]) -> tuple[str, list[Problem]]:
    taken: dict[Change, None] = {}
    done: list[Problem] = []
    for problem in problems:
        fresh = [one for one in problem.changes if one not in taken]
        # Someone has written the file since it was read.
        if any(text[one.start : one.end] != one.was for one in fresh):
            continue
        if any(one.start < other.end and other.start < one.end for one in fresh for other in taken):
            continue
        taken.update(dict.fromkeys(fresh))
        done.append(problem)
    return edited(text, taken), done
