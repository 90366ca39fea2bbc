"""From logits to a proper distribution over what may be written."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


def ban(logits: tf.Tensor, banned_ids: Sequence[int]) -> tf.Tensor:
    """Gives banned ids probability zero.

    Args:
        logits: float32 `[..., vocab_size]`.
        banned_ids: ids that are never written.

    Returns:
        float32 `[..., vocab_size]`, minus infinity at the banned ids.

    >>> ban(tf.zeros([1, 3]), [1]).numpy().tolist()
    [[0.0, -inf, 0.0]]
    """
    vocab_size = logits.shape[-1]
    bias = np.zeros([vocab_size], np.float32)
    bias[list(banned_ids)] = -np.inf
    return logits + bias


def best_tokens(
    logits: tf.Tensor, banned_ids: Sequence[int]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the most probable allowed id of each position.

    Args:
        logits: float32 `[..., vocab_size]`.
        banned_ids: ids that are never written.

    Returns:
        int32 ids `[...]`, the lowest of equal ones, and float32 natural
        log-probabilities `[...]`, at most 0 and never -inf.

    >>> ids, log_probs = best_tokens(tf.constant([[9.0, 1.0, 1.0]]), [0])
    >>> print(ids.numpy(), f"{log_probs[0]:.4f}")  # log(1 / 2)
    [1] -0.6931
    """
    allowed = ban(logits, banned_ids)
    best = tf.reduce_max(allowed, axis=-1, keepdims=True)
    ids = tf.argmax(allowed, axis=-1, output_type=tf.int32)
    return ids, -tf.math.log(tf.reduce_sum(tf.exp(allowed - best), axis=-1))


def given_tokens(
    logits: tf.Tensor, banned_ids: Sequence[int], given: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns how probable given ids are, and how probable the best one is.

    Args:
        logits: float32 `[positions, vocab_size]`.
        banned_ids: ids that are never written.
        given: int32 `[positions]`.

    Returns:
        Two float32 `[positions]` of natural log-probabilities, at most 0: of
        `given`, -inf where it is banned, and of the most probable id. They are
        the same to the last bit where that is `given`.

    >>> given, best = given_tokens(tf.math.log([[9.0, 1.0, 3.0]]), [0], [1])
    >>> print(f"{tf.exp(given)[0]:.4f} {tf.exp(best)[0]:.4f}")
    0.2500 0.7500
    """
    _, best = best_tokens(logits, banned_ids)
    allowed = ban(logits, banned_ids)
    distance = tf.gather(allowed, given, batch_dims=1) - tf.reduce_max(allowed, axis=-1)
    return distance + best, best
