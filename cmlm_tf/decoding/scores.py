"""Scores of hypotheses."""

import math

import tensorflow as tf


def length_normalized_score(log_probs: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """Averages the log-probabilities with which a row's tokens were written.

    Kreutzer et al. (2020), section 3: the hypothesis of the length candidate
    with the highest length-normalised score is the output.

    >>> length_normalized_score(
    ...     tf.constant([[-1.0, -2.0, -9.0]]), tf.constant([[True, True, False]])
    ... ).numpy().tolist()
    [-1.5]

    Args:
        log_probs: float32 `[..., length]`, natural logs, may be -inf; ignored
            where not `valid`.
        valid: bool `[..., length]`, True where not padding.

    Returns:
        float32 `[...]`, the sum over the N valid positions divided by N; -inf
        where N is 0.
    """
    total = tf.reduce_sum(tf.where(valid, log_probs, 0.0), axis=-1)
    length = tf.reduce_sum(tf.cast(valid, tf.float32), axis=-1)
    return tf.where(length > 0.0, total / tf.maximum(length, 1.0), -math.inf)
