"""Benchmarks: commands that time decoding and training."""
