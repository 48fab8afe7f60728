"""The replicas of a fleet as they are now, where the fleet file only says how to find them."""
