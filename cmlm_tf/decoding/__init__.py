"""Inference by masking: heuristics, update strategies and the loop."""
