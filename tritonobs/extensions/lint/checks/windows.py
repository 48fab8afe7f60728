"""Checks of windows: too short, of the wrong variable, or of irate."""

from __future__ import annotations

from collections.abc import Iterator

from tritonobs.extensions.lint.checks.registry import Context, Edit, Hit, check
from tritonobs.extensions.lint.expression import variable_at
from tritonobs.extensions.lint.shapes import FLOWS
from tritonobs.extensions.lint.tree import Call, Selector
from tritonobs.findings import Severity
from tritonobs.units import parse_duration

_TWO_SAMPLES = frozenset((*FLOWS, "delta", "idelta", "deriv"))
_DCGM_SECONDS = 30.0
"""How often dcgm-exporter collects (its default)."""


@check(
    "short-window",
    Severity.ERROR,
    title="A window shorter than two scrapes",
    why="`rate` needs two samples. A window below twice the scrape interval is often or always empty; four "
    "times is safe when a scrape is missed. The interval is taken for 15 s, or for the interval of the "
    "rules' group if that is shorter; `--scrape-interval` says otherwise.",
    wrong="rate(nv_inference_request_success[10s])",
    right="rate(nv_inference_request_success[1m])",
)
def short_window(seen: Context) -> Iterator[Hit]:
    """Ranges of rate and its like."""
    for one, above in seen.selectors:
        found = seen.catalogue.find(one.name)
        call = above[-1] if above else None
        if one.seconds is None or not found or not isinstance(call, Call) or call.func not in _TWO_SAMPLES:
            continue
        if seen.expression.grafana and variable_at(seen.expression.text, one.range_start, one.range_end):
            continue
        scrape = _scrape_seconds(seen)
        scrape = max(scrape, _DCGM_SECONDS) if found.series.group == "dcgm" else scrape
        if one.seconds < 2 * scrape:
            written = seen.expression.plain[one.range_start : one.range_end].strip()
            message = (
                f"[{written}] is shorter than two scrapes of {scrape:g} s: {call.func} finds no two samples"
            )
            yield Hit(start=one.range_start, message=message, hint=f"write at least [{_window(4 * scrape)}]")


def _scrape_seconds(seen: Context) -> float:
    """The scrape interval; rules that are evaluated more often say that scrapes are as frequent."""
    interval = seen.expression.settings.get("interval", "")
    try:
        return min(seen.settings.scrape_seconds, float(parse_duration(interval)))
    except ValueError:
        return seen.settings.scrape_seconds


def _window(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:g}s"


@check(
    "interval-window",
    Severity.WARNING,
    title="$__interval as the window of a rate",
    why="`$__interval` is the width of a pixel: on a short time range it is less than two scrapes, and the "
    "panel is empty. `$__rate_interval` is never less than four scrapes.",
    wrong="rate(nv_inference_request_success[$__interval])",
    right="rate(nv_inference_request_success[$__rate_interval])",
    fixed=True,
)
def interval_window(seen: Context) -> Iterator[Hit]:
    """The variable of a pixel's width in rate and increase."""
    if not seen.expression.grafana:
        return
    for one, above in seen.selectors:
        call = above[-1] if above else None
        if one.seconds is None or not isinstance(call, Call) or call.func not in _TWO_SAMPLES:
            continue
        if not seen.catalogue.find(one.name):
            continue
        if variable_at(seen.expression.text, one.range_start, one.range_end) != "__interval":
            continue
        edits = (Edit(start=one.range_start, end=one.range_end, text="$__rate_interval"),)
        message = f"{call.func} over $__interval is empty where a pixel is less than two scrapes"
        yield Hit(start=one.range_start, message=message, hint="write $__rate_interval", edits=edits)


@check(
    "irate-in-alert",
    Severity.WARNING,
    title="irate in an alert, a record or a scaler",
    why="`irate` reads the last two samples only: one scrape decides whether an alert fires, and `for` "
    "begins again with each quiet one.",
    wrong="alert: sum by (model) (irate(nv_inference_request_failure[5m])) > 1",
    right="sum by (model) (rate(nv_inference_request_failure[5m])) > 1",
    fixed=True,
)
def irate_in_alert(seen: Context) -> Iterator[Hit]:
    """Where irate is more than a picture."""
    # A record that is called so is meant so.
    if seen.expression.use not in ("alert", "record", "scaler") or seen.says("irate"):
        return
    for node, _ in seen.nodes:
        if not isinstance(node, Call) or node.func != "irate":
            continue
        inner = node.args[0]
        if isinstance(inner, Selector) and seen.catalogue.find(inner.name):
            edits = (Edit(start=node.start, end=node.start + len("irate"), text="rate"),)
            message = "irate reads the last two samples only, so that one scrape decides"
            yield Hit(start=node.start, message=message, hint="write rate", edits=edits)
