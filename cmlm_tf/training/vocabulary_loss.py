"""The loss over the vocabulary, at wanted positions only, a chunk at a time.

The logits of a whole batch would be by far the largest tensor of training:
32,768 positions times 32,000 subwords are 4 GB. Here one chunk of positions has
its logits, loss and gradient computed before the next one begins, and positions
that do not count (padding; for the student all that is not masked) cost nothing.
"""

from typing import NamedTuple

import tensorflow as tf

from cmlm_tf.training.losses import count, masked_sum, smoothed_loss_and_gradient

_NUM_CHUNKS = 16
_CHUNK_SIZES = (128, 2048)  # the least and the most


class _Sums(NamedTuple):
    """What the loop over chunks adds up.

    Attributes:
        chunk: int32 scalar, number of the next chunk.
        loss: float32 scalar.
        num_correct: float32 scalar.
        by_states: array of a chunk's gradients by its states.
        by_table: float32 `[vocab_size, dim]`, the gradient by the table.
    """

    chunk: tf.Tensor
    loss: tf.Tensor
    num_correct: tf.Tensor
    by_states: tf.TensorArray
    by_table: tf.Tensor


def vocabulary_loss(
    states: tf.Tensor,
    table: tf.Tensor,
    labels: tf.Tensor,
    wanted: tf.Tensor,
    allowed: tf.Tensor,
    smoothing: float,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums the cross-entropy with smoothed labels over the wanted positions.

    It is the sum of `smoothed_cross_entropy` over the logits
    `states @ transpose(table)`.

    Args:
        states: float `[rows, length, dim]`, the decoder's output.
        table: float32 `[vocab_size, dim]`, cast to the dtype of the states for
            the products; its gradient is summed in float32.
        labels: int32 `[rows, length]`; ignored where not wanted.
        wanted: bool `[rows, length]`, True where the loss counts.
        allowed: bool `[vocab_size]`, True where the model may write the subword.
        smoothing: the share spread over the allowed vocabulary, in [0, 1).

    Returns:
        Two float32 scalars: the loss in nats, which has a gradient by states
        and table, and the number of wanted positions whose label is the best
        allowed subword or as good.
    """
    num_wanted = tf.math.count_nonzero(wanted, dtype=tf.int32)
    slots = _wanted_first(tf.reshape(wanted, [-1]), num_wanted)
    size, dim = tf.size(slots), states.shape[-1]
    chunk_size = _chunk_size(labels.shape.num_elements())
    num_chunks = -(-size // chunk_size)
    # The inverse: which position is in each slot; 0 in slots beyond the batch.
    order = tf.scatter_nd(slots[:, None], tf.range(size), [num_chunks * chunk_size])
    chunk_labels = tf.gather(tf.reshape(labels, [-1]), order)

    @tf.custom_gradient
    def loss_fn(states, table):
        packed = tf.gather(tf.reshape(states, [-1, dim]), order)
        cast_table = tf.cast(table, states.dtype)

        def add_chunk(sums):
            start = sums.chunk * chunk_size
            counts = start + tf.range(chunk_size) < num_wanted
            chunk = tf.slice(packed, [start, 0], [chunk_size, dim])
            chunk = tf.where(counts[:, None], chunk, 0)
            loss, is_best, by_logits = smoothed_loss_and_gradient(
                tf.matmul(chunk, cast_table, transpose_b=True),
                tf.slice(chunk_labels, [start], [chunk_size]),
                allowed,
                smoothing,
            )
            by_logits = tf.where(counts[:, None], by_logits, 0)
            by_table = tf.matmul(by_logits, chunk, transpose_a=True)
            return (
                _Sums(
                    chunk=sums.chunk + 1,
                    loss=sums.loss + masked_sum(loss, counts),
                    num_correct=sums.num_correct + count(is_best & counts),
                    by_states=sums.by_states.write(
                        sums.chunk, tf.matmul(by_logits, cast_table)
                    ),
                    by_table=sums.by_table + tf.cast(by_table, tf.float32),
                ),
            )

        zero = tf.constant(0.0)
        by_states = tf.TensorArray(
            states.dtype, num_chunks, element_shape=[chunk_size, dim]
        )
        (sums,) = tf.while_loop(
            lambda sums: sums.chunk * chunk_size < num_wanted,
            add_chunk,
            (_Sums(tf.constant(0), zero, zero, by_states, tf.zeros_like(table)),),
            parallel_iterations=1,
        )

        def gradient(upstream, _):
            by_slots = tf.reshape(sums.by_states.stack(), [-1, dim])
            by_states = tf.reshape(tf.gather(by_slots, slots), tf.shape(states))
            return tf.cast(upstream, states.dtype) * by_states, upstream * sums.by_table

        return (sums.loss, sums.num_correct), gradient

    return loss_fn(states, table)


def _chunk_size(num_positions: int | None) -> int:
    """Returns the positions of a chunk, of so many in all, or None if unknown.

    >>> [_chunk_size(size) for size in (100, 8192, 1_000_000, None)]
    [128, 512, 2048, 2048]
    """
    least, most = _CHUNK_SIZES
    if num_positions is None:
        return most
    return min(max(-(-num_positions // _NUM_CHUNKS), least), most)


def _wanted_first(wanted: tf.Tensor, num_wanted: tf.Tensor) -> tf.Tensor:
    """Gives every position a slot of its own, wanted ones first, in order.

    Args:
        wanted: bool `[positions]`.
        num_wanted: int32 scalar.

    Returns:
        int32 `[positions]`, a permutation.

    >>> wanted = tf.constant([False, True, False, True])
    >>> _wanted_first(wanted, tf.constant(2)).numpy().tolist()
    [2, 0, 3, 1]
    """
    before = tf.cumsum(tf.cast(wanted, tf.int32), exclusive=True)
    others_before = tf.range(tf.size(wanted)) - before
    return tf.where(wanted, before, num_wanted + others_before)
