"""`lint`: errors in existing rules, boards and autoscalers for Triton."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tritonobs.cli.say import say
from tritonobs.cli.values import Address, Duration
from tritonobs.findings import Severity

if TYPE_CHECKING:
    from tritonobs.extensions.lint.linter import Options, Problem, Result
    from tritonobs.extensions.lint.live import Live

_STDIN = "-"
_ROUNDS = 5


@click.command(epilog="Example: tritonobs lint rules/ dashboards/")
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(exists=True, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="Format of the output: for people, programs, SARIF readers, or GitHub's annotations.",
)
@click.option(
    "--triton-version", metavar="YY.MM", default="", help="The release of the servers, such as 24.10."
)
@click.option(
    "--scrape-interval",
    type=Duration(),
    help="How often the servers are scraped.  [default: 15s]",
)
@click.option("--select", multiple=True, metavar="ID", help="Run this check only; can be repeated.")
@click.option("--ignore", multiple=True, metavar="ID", help="Leave a check out; can be repeated.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave files out; can be repeated.")
@click.option(
    "--jpath",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder where jsonnet looks for imports, as vendor/ is; can be repeated.",
)
@click.option(
    "--ext-str",
    "texts",
    multiple=True,
    metavar="NAME[=TEXT]",
    help="An external variable of jsonnet, from the environment without a text; can be repeated.",
)
@click.option(
    "--ext-code", "codes", multiple=True, metavar="NAME[=CODE]", help="The same as code; can be repeated."
)
@click.option(
    "--grafana",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder of Grafana's files, all of which are read; can be repeated.",
)
@click.option("--markdown", is_flag=True, help="Also read blocks of code in Markdown files.")
@click.option(
    "--prometheus",
    "prometheus_url",
    type=Address(),
    help="Also ask this Prometheus whether the series exist and the expressions return a result.",
)
@click.option(
    "--over",
    "history",
    type=Duration(),
    default="7d",
    show_default=True,
    help="How much of its history to replay the alerts on.",
)
@click.option("--fix", "mend", is_flag=True, help="Write the fixes that are certain into the files.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="warning",
    show_default=True,
    help="The mildest severity that makes the exit code 1.",
)
@click.option("--explain", metavar="ID", help="Print the page of a check, or of all of them (all), and end.")
@click.option("--catalogue", is_flag=True, help="Print every known series in Markdown (or as JSON), and end.")
def lint(
    *,
    paths: Sequence[str],
    grafana: Sequence[Path],
    form: str,
    prometheus_url: str | None,
    history: float,
    mend: bool,
    fail_on: str,
    explain: str | None,
    catalogue: bool,
    **asked: Any,  # noqa: ANN401 (the options that a configuration has, too)
) -> int:
    """Find errors in rules, boards and autoscalers for Triton.

    PATH is a file, a folder, or - for the standard input: rule files, PrometheusRule objects, boards of
    Grafana, prometheus-adapter, KEDA, Alertmanager, plain PromQL. Expressions that are not about Triton are
    skipped.
    """
    if explain or catalogue:
        return _printed(explain, form)
    if not paths and not grafana:
        raise click.UsageError("Missing argument 'PATH...'.")
    options, files = _options(paths, grafana, **asked)
    from tritonobs.extensions.lint.linter import fix, lint_files

    stdin = _STDIN in paths
    if stdin and (mend or grafana or len(paths) > 1):
        raise click.UsageError("- stands alone, and --fix needs files.")
    live = _live(prometheus_url, history) if prometheus_url else None
    # What can be mended is asked about when it is.
    result = _of_stdin(options, live) if stdin else lint_files(files, options, None if mend else live)
    mended: tuple[Problem, ...] = ()
    if mend:
        # Of two fixes at one place the second is made in the next round.
        for _ in range(_ROUNDS):
            if not (done := fix(result.problems)):
                break
            mended += done
            result = lint_files(files, options)
        result = lint_files(files, options, live) if live else result
    _show(result, mended, form, live)
    worst = max((one.finding.severity for one in result.problems), default=Severity.INFO)
    return int(worst >= Severity[fail_on.upper()])


def _printed(explain: str | None, form: str) -> int:
    if not explain:
        from tritonobs.extensions.lint.catalogue import catalogue, markdown
        from tritonobs.report.formats import json_text

        say(json_text(catalogue()) if form == "json" else markdown())
        return 0
    from tritonobs.extensions.lint.checks import CHECKS
    from tritonobs.extensions.lint.formats import page_of, pages

    if explain != "all" and explain not in CHECKS:
        raise click.BadParameter(
            f"{explain!r} is not a check; allowed are {', '.join(CHECKS)}", param_hint="--explain"
        )
    say(pages() if explain == "all" else page_of(explain))
    return 0


def _options(
    paths: Sequence[str],
    grafana: Sequence[Path],
    **asked: Any,  # noqa: ANN401 (as above)
) -> tuple[Options, list[tuple[Path, bool]]]:
    from tritonobs.extensions.lint.catalogue import release
    from tritonobs.extensions.lint.checks.registry import Settings
    from tritonobs.extensions.lint.configuration import configuration, files_of, known_ids
    from tritonobs.extensions.lint.linter import Options
    from tritonobs.render.jsonnet import External

    try:
        held = configuration(Path.cwd())
        version = asked["triton_version"] or held.triton_version
        if version:
            release(version)
        select, ignore = known_ids(asked["select"]), known_ids(asked["ignore"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    options = Options(
        settings=Settings(
            scrape_seconds=asked["scrape_interval"] or held.scrape_seconds, triton_version=version
        ),
        select=select or held.select,
        ignore=(held.ignore - select) | ignore,
        roots=tuple(one if one.is_dir() else one.parent for one in (*map(Path, paths), *grafana)),
        libraries=asked["jpath"],
        external=External(
            texts=_external(asked["texts"], "--ext-str"), codes=_external(asked["codes"], "--ext-code")
        ),
    )
    files = files_of(
        [Path(path) for path in paths if path != _STDIN],
        whole=grafana,
        exclude=(*held.exclude, *asked["exclude"]),
        markdown=asked["markdown"] or held.markdown,
    )
    return options, list(files)


def _external(written: Sequence[str], option: str) -> dict[str, str]:
    """Variables as jsonnet's own command takes them."""
    held: dict[str, str] = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not name or not (equals or name in os.environ):
            raise click.BadParameter(
                f"{one!r} has no value, and no variable of the environment is called so; write NAME=VALUE",
                param_hint=option,
            )
        held[name] = value if equals else os.environ[name]
    return held


def _live(prometheus_url: str, history: float) -> Live:
    from tritonobs.clients.prometheus import PrometheusClient
    from tritonobs.extensions.lint.live import Live
    from tritonobs.timings.promql import Span

    now = time.time()
    return Live(PrometheusClient(prometheus_url), Span(start=now - history, end=now))


def _of_stdin(options: Options, live: Live | None) -> Result:
    from tritonobs.extensions.lint.linter import MAX_BYTES, Linter

    try:
        text = sys.stdin.read(MAX_BYTES + 1)
    except UnicodeDecodeError:
        raise click.UsageError("The standard input is not UTF-8 text.") from None
    if len(text) > MAX_BYTES:
        raise click.UsageError(
            f"The standard input has more than {MAX_BYTES} characters, the most that is read."
        )
    linter = Linter(options)
    linter.read_text(text, "<stdin>")
    return linter.result(live)


def _show(result: Result, mended: Sequence[Problem], form: str, live: Live | None) -> None:
    import tritonobs
    from tritonobs.extensions.lint.formats import github_of, json_of, line_of, sarif_of

    if form == "json":
        say(json_of(result))
    elif form == "sarif":
        say(sarif_of(result, tritonobs.__version__))
    elif form == "github":
        if result.problems:
            say(github_of(result.problems))
    else:
        for problem in result.problems:
            say(line_of(problem))
    for line in (*_summary(result, mended), *_unasked(live)):
        say(line, err=form != "text" or bool(result.problems))


def _unasked(live: Live | None) -> Iterator[str]:
    if live and (count := live.unsent):
        were = "was" if count == 1 else "were"
        yield f"{_counted(count, 'expression')} with variables of Grafana {were} not sent to Prometheus"


def _summary(result: Result, mended: Sequence[Problem]) -> Iterator[str]:
    if mended:
        yield f"{len(mended):,} fixed"
    read = f"{_counted(result.files, 'file')}, {_counted(result.expressions, 'expression')}"
    count = len(result.problems)
    yield f"{read}: {_counted(count, 'finding')}" if count else f"{read}: nothing found"
    fixable = sum(bool(problem.changes) for problem in result.problems)
    if fixable and not mended:
        yield f"{fixable:,} of them can be fixed with --fix"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
