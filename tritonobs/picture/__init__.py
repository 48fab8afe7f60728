"""Pictures of boards without Grafana: from a board's JSON and a Prometheus to one HTML file or one PNG.

The only package that draws: matplotlib is imported here and nowhere else.
"""
