"""What the fleet file means: frozen values, derived numbers, no I/O."""
