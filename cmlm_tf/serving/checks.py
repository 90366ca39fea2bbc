"""Checks of a request inside the graph; a failed one is INVALID_ARGUMENT."""

from collections.abc import Sequence

import tensorflow as tf


def require(met: tf.Tensor, message: str) -> tf.Operation:
    """Refuses a request in which a row does not meet a condition.

    Args:
        met: bool scalar or `[batch]`, True where all is well.
        message: the input's name, a colon, and what is wrong.

    Returns:
        The op that fails with the message, and the numbers of the rows from 0; a
        scalar is of no row.
    """
    if met.shape.rank == 0:
        return tf.debugging.Assert(met, [message])
    rows = tf.where(~met)[:, 0]
    return tf.debugging.Assert(
        tf.reduce_all(met), [f"{message} (rows)", rows], summarize=8
    )


def after(checks: Sequence[tf.Operation], value: tf.Tensor) -> tf.Tensor:
    """Returns a tensor that exists only if the checks have passed."""
    # Eager execution has checked already and returns None.
    with tf.control_dependencies([check for check in checks if check is not None]):
        return tf.identity(value)
