"""The practice stack: start it, load it, break it, watch it. No other package of tritonobs imports it."""
