"""Commands of the laboratory: options, one call, an exit code."""
