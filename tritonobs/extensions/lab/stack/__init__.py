"""The whole stack as native processes on loopback: what to start, how to start, watch and stop it."""
