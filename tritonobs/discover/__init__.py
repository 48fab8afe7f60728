"""A fleet file from what runs."""
