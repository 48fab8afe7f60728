"""A robot of a chat on loopback, as strict as the vendor's."""
