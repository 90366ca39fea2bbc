"""Target lengths: the length beam, and lengths from a reference."""

import tensorflow as tf


def length_beam(length_logits: tf.Tensor, num_lengths: int) -> tf.Tensor:
    """Takes the most probable distinct target lengths.

    Kreutzer et al. (2020), section 3, the length beam b.

    >>> length_beam(tf.constant([[0.0, 3.0, 1.0, 2.0]]), 2).numpy().tolist()
    [[2, 4]]

    Args:
        length_logits: float32 `[batch, max_length]`; class i is length i + 1.
        num_lengths: b, at most `max_length`.

    Returns:
        int32 `[batch, num_lengths]`, most probable first, the shorter of equals
        first.
    """
    return tf.math.top_k(length_logits, k=num_lengths).indices + 1


def oracle_lengths(
    reference_lengths: tf.Tensor, spread: int, max_length: int
) -> tf.Tensor:
    """Takes the reference's length and those around it.

    >>> oracle_lengths(tf.constant([5, 2]), spread=2, max_length=6).numpy().tolist()
    [[5, 4, 6, 3, 0], [2, 1, 3, 0, 4]]

    Args:
        reference_lengths: int32 `[batch]`, N.
        spread: how many shorter and how many longer lengths to add.
        max_length: the longest length allowed.

    Returns:
        int32 `[batch, 2 * spread + 1]`: N, N - 1, N + 1, N - 2 and so on; 0 (an
        empty candidate) for lengths below 1 or above `max_length`.
    """
    offsets = [0]
    for distance in range(1, spread + 1):
        offsets += [-distance, distance]
    lengths = reference_lengths[:, tf.newaxis] + tf.constant(offsets)
    return tf.where((lengths >= 1) & (lengths <= max_length), lengths, 0)
