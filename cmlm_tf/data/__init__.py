"""Corpora, subword model, batching and target masking."""
