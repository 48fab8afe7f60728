"""Rehearsals: cause a fault on a stack that is for that, see the promised alert and verdict, undo it."""
