"""Background work that is restarted after failures, and blocking calls in threads."""
