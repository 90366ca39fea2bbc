"""A SavedModel that serves, and the client that asks it."""
