"""A fleet's alerts as Nightingale's (n9e) own JSON."""

from tritonobs.registry import Extension, Target

EXTENSION = Extension(
    summary="alerts for Nightingale",
    targets=(
        Target(
            name="n9e",
            help="alerts for Nightingale, and records for the Prometheus it asks",
            at="tritonobs.extensions.nightingale.render:artifacts",
        ),
    ),
)
