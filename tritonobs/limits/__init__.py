"""Limits as they change: the fleet file, its log, annotations, and what is in force."""
