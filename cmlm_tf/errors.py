"""The error that a user can act on."""

import contextlib
from collections.abc import Iterator


class UserError(Exception):
    """A mistake in input, flags or files, told in one clear line."""


@contextlib.contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Says which extra of the package has a module that the body imports in vain.

    >>> with needs_extra("beam"):
    ...     import no_such_module
    Traceback (most recent call last):
    cmlm_tf.errors.UserError: no_such_module is missing: the extra beam has it

    Raises:
        UserError: a module is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is missing: the extra {name} has it") from error
