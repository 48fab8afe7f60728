"""The command line: options, one call, an exit code."""
