"""Open-loop load with real images over tritonclient."""
