"""Settings for training: `base` explains every line, the others change some."""
