"""The commands in next steps, quoted so that they can be pasted with any model name. Pure."""

from __future__ import annotations

import shlex

from tritonobs.units import format_number


def suggest_limit(model: str) -> str:
    """Find out what a model can serve."""
    return f"tritonobs limits suggest --model {shlex.quote(model)}"


def set_limit(model: str, version: str, qps: float) -> str:
    """Write a limit; the fleet file and the reason are the reader's."""
    which = f" --model {shlex.quote(model)}" if model else ""
    which += f" --version {shlex.quote(version)}" if version else ""
    number = format_number(float(f"{qps:.3g}"))
    return f'tritonobs limits set fleet.yaml {number}{which} --reason "there is room"'


def stages(model: str) -> str:
    """See where the time goes."""
    return f"tritonobs stages --model {shlex.quote(model)}"


def triage(model: str, since: str) -> str:
    """Ask again about one model."""
    return f"tritonobs triage --model {shlex.quote(model)} --since {since}"
