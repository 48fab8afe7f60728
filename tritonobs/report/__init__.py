"""Results as text for people and JSON for programs: results to stdout, progress to stderr."""
