"""What may be written in fleet.yaml, and how it is read: every problem at once, each with its place."""
