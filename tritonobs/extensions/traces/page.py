"""The slowest requests as an HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from tritonobs.extensions.traces.slowest import Slow
from tritonobs.extensions.traces.waterfall import rows, sentence
from tritonobs.report.formats import latency, template
from tritonobs.units import format_moment


def slow_page(model: str, slow: Sequence[Slow]) -> str:
    """The slowest requests of a model, each as a waterfall."""
    return template(__package__, "slow.html").render(
        title=f"Slowest traced requests to {model}",
        latency=latency,
        requests=[
            {
                "slow": each,
                "rows": rows(each),
                "sentence": sentence(each),
                "at": format_moment(each.call.request.start_ns / 1e9),
            }
            for each in slow
        ],
    )
