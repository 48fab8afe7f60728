"""Chats that get alerts: one module each, with the facts of its vendor; a registry names them. No I/O."""
