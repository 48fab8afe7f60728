"""Limits and objectives compared with recorded history."""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="limits and objectives compared with recorded history",
    commands=(
        Command(
            under="limits",
            name="suggest",
            help="Estimate the rate at which requests begin to queue, and suggest a limit below it.",
            at="tritonobs.extensions.history.commands:suggest",
            order=50,
        ),
        Command(
            under="limits",
            name="backtest",
            help="List the alerts that another limit or objective would have caused.",
            at="tritonobs.extensions.history.commands:backtest",
            order=50,
        ),
    ),
)
