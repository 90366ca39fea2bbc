"""The error that a user can act on."""

import contextlib
import decimal
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


def span_inside(low: float, high: float) -> str:
    """Names two bounds in few digits, rounded to what lies between them.

    >>> span_inside(1.92398, 10.897), span_inside(1.234, 1.238)
    ('from 1.93 to 10.89', 'from 1.234 to 1.238')
    >>> span_inside(1.234, 1.234)
    '1.234'
    """
    if low == high:
        return f"{low}"
    lower, upper = decimal.Decimal(repr(low)), decimal.Decimal(repr(high))
    for digits in range(2, 9):
        step = decimal.Decimal(1).scaleb(-digits)
        least = lower.quantize(step, decimal.ROUND_CEILING)
        most = upper.quantize(step, decimal.ROUND_FLOOR)
        if least <= most:
            return f"from {least} to {most}"
    return f"from {low} to {high}"
