"""What a fleet measures: times per stage and model version, tables, the live view."""
