"""What several test folders, and the benchmarks, share: real programs, strict doubles, simulated worlds."""
