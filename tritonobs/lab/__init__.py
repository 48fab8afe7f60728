"""The practice stack: start it, send load, inject faults. No other package of tritonobs imports it."""
