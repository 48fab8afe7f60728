"""Incidents lived through in simulated fleets: which alerts start, and which messages people get."""
