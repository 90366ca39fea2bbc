"""Files, progress and what else is of no one part."""
