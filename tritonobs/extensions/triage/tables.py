"""A verdict for people: as text, as Markdown, as an HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from tritonobs.extensions.triage.judge import Slowdown, Verdict
from tritonobs.report.console import Column, Line, Style, Table, plain, print_table, print_text, table_text
from tritonobs.report.formats import NOTHING, latency, number, rate, share
from tritonobs.timings.cause import Cause, Evidence
from tritonobs.units import format_duration, format_moment

_MOST_PARTS = 8
_TREND = "trend of "
_STYLES: dict[str, Style] = {"wrong": "red", "healthy": "green", "blind": "yellow"}
_ALL_THE_SAME = {"healthy": " (perhaps because of earlier requests)"}
_HEADS = {"wrong": "UNHEALTHY", "healthy": "HEALTHY", "blind": "NO VERDICT"}
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|!~"})


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """The verdict as a message of plain lines, short enough for a chat."""
    yield f"{_HEADS[verdict.status]}: {verdict.sentence}"
    yield f"({_window(verdict)})"
    if verdict.baseline_note:
        yield f"({verdict.baseline_note})"
    for place, cause in enumerate(verdict.causes):
        if place:
            yield ""
            yield f"Also: {cause.sentence}"
        yield f"  {cause.check}, {_sure(cause, verdict)}"
        for evidence in cause.evidence:
            yield f"  - {evidence_text(evidence)}"
        for step in cause.next_steps:
            yield f"  > {step}"
    if verdict.following:
        yield ""
        yield "Consequences:"
    for cause in verdict.following:
        yield f"  {cause.sentence} ({cause.check})"
    yield from _beside(verdict)


def _beside(verdict: Verdict) -> Iterator[str]:
    """What is not a part of the verdict: alerts, budgets that still burn, what was not read."""
    if verdict.firing:
        yield ""
        yield f"Alerts firing{_ALL_THE_SAME.get(verdict.status, '')}: {', '.join(verdict.firing)}"
    for burning in verdict.still_burning:
        yield f"Note: {burning}"
    for unseen in verdict.unseen:
        yield f"Unavailable data: {unseen.what}: {unseen.why}"


def slowdown_table(slowdown: Slowdown) -> Table:
    """How much each part of a request adds to its time."""
    whole = (slowdown.now or 0.0) - (slowdown.before or 0.0)
    notable = [part for part in slowdown.parts if abs(part.added) >= 0.01 * abs(whole)]
    lines = [
        Line(
            cells=(
                " / ".join(part.path),
                latency(part.before),
                latency(part.now),
                _signed(part.added),
                # Where only the slowest hundredth grew, the mean has nothing to share out.
                share(part.added / whole) if whole > 0 else NOTHING,
            ),
            style="yellow" if part is slowdown.parts[0] else "",
        )
        for part in notable[:_MOST_PARTS]
    ]
    total = ("request", latency(slowdown.before), latency(slowdown.now), _signed(whole), share(1.0))
    return Table(
        title=f"added time of {slowdown.model} version {slowdown.version or 'any'}",
        columns=(
            Column(title="part of a request", wrap=True),
            *(Column(title=title, right=True) for title in ("before", "now", "added", "share")),
        ),
        lines=(Line(cells=total, style="bold"), *lines),
    )


def verdict_text(verdict: Verdict, *, tables: bool = True) -> str:
    """The verdict as plain text; without tables it fits into a chat message."""
    drawn = (table_text(slowdown_table(slowdown)) for slowdown in verdict.slowdowns if tables)
    return "\n\n".join(("\n".join(plain(line) for line in verdict_lines(verdict)), *drawn))


def verdict_markdown(verdict: Verdict, urls: Iterable[tuple[str, str]] = ()) -> str:
    """The verdict for a chat or a ticket that reads Markdown; names in it are shown as text."""
    return "\n".join(_markdown_lines(verdict, urls)) + "\n"


def _markdown_lines(verdict: Verdict, urls: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"**{_HEADS[verdict.status]}: {_unmarked(verdict.sentence)}**"
    yield ""
    yield _unmarked(_window(verdict))
    if verdict.baseline_note:
        yield ""
        yield _unmarked(verdict.baseline_note)
    for cause in verdict.causes:
        yield ""
        yield f"### {_unmarked(cause.sentence)}"
        yield ""
        yield f"`{cause.check}`, {_sure(cause, verdict)}"
        yield ""
        yield from (f"- {_unmarked(evidence_text(evidence))}" for evidence in cause.evidence)
        yield ""
        yield from (f"- [ ] {_unmarked(step)}" for step in cause.next_steps)
    if verdict.following:
        yield ""
        yield "Consequences:"
        yield ""
        yield from (f"- {_unmarked(cause.sentence)} (`{cause.check}`)" for cause in verdict.following)
    beside = [_unmarked(line) for line in _beside(verdict) if line]
    if beside:
        yield ""
        yield from (f"- {line}" for line in beside)
    for name, url in urls:
        yield ""
        # Encoded already; a bracket alone could end the link.
        yield f"[{_unmarked(name)}]({url.replace('(', '%28').replace(')', '%29')})"


def _unmarked(text: str) -> str:
    """Text of one line without Markdown and control characters."""
    return plain(text).translate(_MARKDOWN)


def verdict_page(
    verdict: Verdict, *, links: Iterable[tuple[str, str]], questions: Iterable[tuple[str, str]]
) -> str:
    """The page: verdict, causes with evidence and steps, tables, links, PromQL."""
    from tritonobs.report.formats import template  # noqa: PLC0415 (brings jinja2)

    return template(__package__, "triage.html").render(
        verdict=verdict,
        head=_HEADS[verdict.status],
        tables=[slowdown_table(slowdown) for slowdown in verdict.slowdowns],
        links=list(links),
        questions=list(questions),
        format_moment=format_moment,
        evidence_text=evidence_text,
    )


def print_verdict(verdict: Verdict) -> None:
    """Draw the verdict, its sentence in the colour of its status."""
    head, *rest = verdict_lines(verdict)
    print_text(head, style=_STYLES[verdict.status])
    for line in rest:
        print_text(line)
    for slowdown in verdict.slowdowns:
        print_text("")
        print_table(slowdown_table(slowdown))


def questions(verdict: Verdict, asked: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The PromQL behind the causes: name and text, each once."""
    wanted = [name for cause in (*verdict.causes, *verdict.following) for name in cause.asked]
    trends = [f"{_TREND}{cause.trend[0]}" for cause in verdict.causes if cause.trend]
    for name in dict.fromkeys((*wanted, *trends)):
        if name in asked:
            yield name, asked[name]


def links(
    verdict: Verdict, asked: Mapping[str, str], *, prometheus_url: str, grafana_url: str, serve_url: str
) -> Mapping[str, str]:
    """Where to look next, by name: pages of the checks, boards of a Grafana, trends in Prometheus."""
    found: dict[str, str] = {}
    # Grafana reads milliseconds.
    times = f"from={verdict.baseline.start * 1000:.0f}&to={verdict.incident.end * 1000:.0f}"
    for cause in verdict.causes:
        if serve_url:
            found[f"page of {cause.check}"] = f"{serve_url.rstrip('/')}/checks/{cause.check}"
        if grafana_url and cause.model:
            version = cause.place[1] if len(cause.place) > 1 else ""
            found[f"board of {cause.model}"] = (
                f"{grafana_url.rstrip('/')}/d/tritonobs-model?var-model={_quoted(cause.model)}"
                f"{f'&var-version={_quoted(version)}' if version else ''}&{times}"
            )
    span = format_duration(int(verdict.incident.end - verdict.baseline.start))
    # Without an end the graph would show the time until it is opened.
    until = quote(format_moment(verdict.incident.end).removesuffix(" UTC"))
    graph = f"{prometheus_url}/graph?g0.tab=0&g0.range_input={span}&g0.end_input={until}"
    return found | {
        name: f"{graph}&g0.expr={_quoted(text)}"
        for name, text in questions(verdict, asked)
        if name.startswith(_TREND)
    }


def _quoted(text: str) -> str:
    # A name in JSON can hold half of a character.
    return quote(text, errors="surrogatepass")


def evidence_text(evidence: Evidence) -> str:
    """`mean of decode: 85 ms (was 15 ms)`."""
    was = f" (was {_value(evidence.before, evidence.unit)})" if evidence.before is not None else ""
    return f"{evidence.what}: {_value(evidence.now, evidence.unit)}{was}"


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    if unit == "seconds":
        return latency(value)
    if unit == "ratio":
        return share(value)
    if unit == "timestamp":
        return format_moment(value)
    if unit == "per_second":
        return f"{rate(value)}/s"
    return f"{number(value, 3)} {unit}" if unit not in {"count", ""} else number(value, 4)


def _sure(cause: Cause, verdict: Verdict) -> str:
    sure = f"confidence {cause.confidence:.0%}"
    if cause.since is None:
        return sure
    ago = format_duration(max(1, round(verdict.incident.end - cause.since)))
    return f"{sure}, since {format_moment(cause.since)} ({ago} ago)"


def _window(verdict: Verdict) -> str:
    incident, baseline = verdict.incident, verdict.baseline
    return (
        f"window {format_duration(round(incident.seconds))} ending {format_moment(incident.end)}, "
        f"baseline {format_duration(round(baseline.seconds))} ending {format_moment(baseline.end)}"
    )


def _signed(seconds: float) -> str:
    return f"{'+' if seconds >= 0 else '-'}{latency(abs(seconds))}"
