"""A model of Alertmanager and of what `tritonobs serve` makes of its calls, for lives of alerts."""
