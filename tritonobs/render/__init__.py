"""Plan in, artifacts out: no network, no clock; the same plan gives the same bytes."""
