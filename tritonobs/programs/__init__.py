"""The programs of other projects that tritonobs starts: where they are, and how they are installed."""
