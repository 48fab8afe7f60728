"""Triton's traces of a sample of requests: distributions of every model's times, and its slowest requests."""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="every model's times and slowest requests, from Triton's traces",
    commands=(
        Command(
            under="On call",
            name="traces",
            help="Every model's P99 and slowest requests, from Triton's own traces.",
            at="tritonobs.extensions.traces.commands:traces",
            order=40,
        ),
    ),
    serve="tritonobs.extensions.traces.routes:Traced",
    answers={"slowest": "tritonobs.extensions.traces.waterfall:slowest"},
)
