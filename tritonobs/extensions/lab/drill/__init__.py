"""Rehearsals on a practice stack: cause a fault, check the promised alert and verdict, undo it."""
