"""Triton's traces of a sample of requests: distributions of every model's times, and its slowest requests."""
