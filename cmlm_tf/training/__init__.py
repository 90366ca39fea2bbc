"""Training and sequence-level distillation."""
