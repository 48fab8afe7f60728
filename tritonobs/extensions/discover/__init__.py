"""A fleet file from what runs."""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="a fleet file from what runs",
    commands=(
        Command(
            under="Configure",
            name="discover",
            help="Write a fleet file of what running servers serve.",
            at="tritonobs.extensions.discover.commands:discover",
            order=40,
        ),
    ),
)
