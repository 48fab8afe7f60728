"""Faults planted to find out whether triage tells them as they are, each by other hands than the drills'."""
