"""Signals: what boards draw. Each is declared once, with its unit, one expression and what good looks like.

Expressions read records; raw counters only where nothing is recorded. `%(…)s` are words that `layout` fills:
windows, selectors of the board's variables, the label that names a replica.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From this value on (None: from the lowest), this colour."""

    value: float | None
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One thing worth looking at.

    `unit` is one of Grafana's; `legend` names a series (`{{label}}`); `steps` are the thresholds, drawn as
    lines where `lines` says so. `exemplars` are points with a trace behind them. `says` maps values to words.
    `colours` go by the end of a series' legend.
    """

    title: str
    unit: str
    expr: str
    description: str
    legend: str
    minimum: float | None = 0
    maximum: float | None = None
    decimals: int | None = None
    steps: tuple[Step, ...] = ()
    lines: bool = False
    says: tuple[tuple[float, str, str], ...] = ()
    colours: tuple[tuple[str, str], ...] = ()
    exemplars: bool = False
    colour: str = ""
    """Of every series of this signal, in shades by version; empty where a model has a hue of its own."""
    short: str = ""
    """The header of a table's column."""
    empty: str = ""
    """What an empty panel says where that is normal."""
    worst_is_least: bool = False


def each(signal: Signal) -> Signal:
    """Where a panel shows one thing, the name of a model is enough, and so is its colour."""
    return replace(signal, legend=signal.legend[signal.legend.index("{{") :], colour="")


def or_none(expr: str) -> str:
    """The errors, or a line at zero called `no errors`: an empty panel could mean that nothing is counted."""
    return (
        f"{expr}\n"
        "or\n"
        "(\n"
        "  label_replace(\n"
        "    sum(model_version:triton_requests:rate%(medium)s{%(subject)s}) * 0,\n"
        '    "reason", "no errors", "", ""\n'
        "  )\n"
        "    unless on ()\n"
        f"  {expr}\n"
        ")"
    )
