"""The only place that opens connections: one module per API, typed answers, masked secrets."""
