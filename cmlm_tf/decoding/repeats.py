"""Finds tokens that a pass writes twice, side by side.

The tokens of one pass are predicted without sight of each other, so two
neighbours often get the same one (Kreutzer et al., 2020, section 4). What is
found stays masked and is predicted again with its neighbour in view.
"""

import tensorflow as tf


def weaker_repeats(
    token_ids: tf.Tensor, log_probs: tf.Tensor, written: tf.Tensor
) -> tf.Tensor:
    """Finds the positions whose token a better written neighbour holds too.

    Of two neighbours with the same token, both written, the one with the lower
    log-probability is found, of equal ones the right. So no two neighbours with
    the same token are left, and the best written position of a row is never
    found.

    >>> ids = tf.constant([[7, 7, 8, 8, 7, 7]])
    >>> log_probs = tf.constant([[-3.0, -1.0, -2.0, -2.0, -1.0, -5.0]])
    >>> written = tf.constant([[True, True, True, True, True, False]])
    >>> weaker_repeats(ids, log_probs, written).numpy().astype(int).tolist()
    [[1, 0, 0, 1, 0, 0]]

    Args:
        token_ids: int32 `[rows, length]`; ignored where not `written`.
        log_probs: float32 `[rows, length]`, natural logs, may be -inf; likewise.
        written: bool `[rows, length]`, True where this pass writes a token.

    Returns:
        bool `[rows, length]`, a subset of `written`.
    """
    same = written[:, :-1] & written[:, 1:] & (token_ids[:, :-1] == token_ids[:, 1:])
    left_is_better = log_probs[:, :-1] >= log_probs[:, 1:]
    right = tf.pad(same & left_is_better, [[0, 0], [1, 0]])
    left = tf.pad(same & ~left_is_better, [[0, 0], [0, 1]])
    return (left | right) & written
