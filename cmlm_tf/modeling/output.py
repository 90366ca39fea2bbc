"""From logits to a proper distribution over what may be written."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

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


class Reader(NamedTuple):
    """What a pass reads off the logits at the positions that it computes.

    Attributes:
        read: maps float32 logits `[positions, vocab_size]`, with nothing banned, and
            the values of `given` at the same positions to tensors `[positions]`.
        given: tensors `[sentences, candidates, length]`.
        dtypes: of what is read.
    """

    read: Callable[..., tuple[tf.Tensor, ...]]
    given: tuple[tf.Tensor, ...] = ()
    dtypes: tuple[tf.DType, ...] = (tf.int32, tf.float32)
