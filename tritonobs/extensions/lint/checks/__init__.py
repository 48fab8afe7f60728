"""Every check; importing this package fills `registry.CHECKS`."""

from tritonobs.extensions.lint.checks import alerts, counters, ratios, series, units
from tritonobs.extensions.lint.checks.registry import CHECKS

__all__ = ["CHECKS", "alerts", "counters", "ratios", "series", "units"]
