"""Text in, text out: the only place that joins decoding, modeling and data."""
