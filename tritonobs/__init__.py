"""Observability and SLO alerting for fleets of NVIDIA Triton Inference Servers.

Importing this package imports nothing else: `tritonobs.stage` is used inside inference images, where every
millisecond and every dependency counts.
"""

__version__ = "0.13.5"
