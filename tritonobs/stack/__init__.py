"""The whole stack as native processes on loopback: what to start, start it, watch it, stop it."""
