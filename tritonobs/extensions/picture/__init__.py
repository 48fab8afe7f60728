"""Pictures of boards without Grafana: from a board's JSON and a Prometheus to one HTML file or one PNG.

The only package that draws: matplotlib is imported here and nowhere else.
"""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="pictures of boards without Grafana",
    commands=(
        Command(
            under="On call",
            name="snapshot",
            help="Draw a board as one HTML file or PNG, without Grafana.",
            at="tritonobs.extensions.picture.commands:snapshot",
            order=50,
        ),
    ),
    answers={"pictures": "tritonobs.extensions.picture.page:pictures"},
    extras={"snapshot": ("matplotlib",)},
)
