"""The error that a user can act on."""


class UserError(Exception):
    """A mistake in input, flags or files, told in one clear line."""
