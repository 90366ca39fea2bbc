"""The commands, one module each: flags and one call."""
