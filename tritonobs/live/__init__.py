"""Readings of a running fleet, and judgements over them."""
