"""Shipped test doubles for the wires a machine without accounts cannot have, as strict as their vendors."""
