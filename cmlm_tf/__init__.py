"""Machine translation with conditional masked language models."""

__version__ = "0.1.0"
