"""The tables of the practice stack's commands."""
