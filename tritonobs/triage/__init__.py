"""What is wrong, since when and why: one reading of a fleet, judged by checks."""
