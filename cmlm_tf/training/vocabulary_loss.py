"""The loss over the vocabulary, at wanted positions only, a chunk at a time.

The logits of a whole batch would be by far the largest tensor of training:
32,768 positions times 32,000 subwords are 4 GB. Here one chunk of positions has
its logits, loss and gradient computed before the next one begins, and positions
that do not count (padding; for the student all that is not masked) cost nothing.
"""

from collections.abc import Callable
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

    The logits are `states @ transpose(table)`, each position's loss is that of
    `smoothed_loss_and_gradient`.

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
    dim = states.shape[-1]
    num_wanted = tf.math.count_nonzero(wanted, dtype=tf.int32)
    slots = _wanted_first(tf.reshape(wanted, [-1]), num_wanted)
    chunk_size = _chunk_size(labels.shape.num_elements())
    room = -(-tf.size(slots) // chunk_size) * chunk_size
    # The inverse: which position is in each slot; 0 in slots beyond the batch.
    order = tf.scatter_nd(slots[:, None], tf.range(tf.size(slots)), [room])
    packed_labels = tf.gather(tf.reshape(labels, [-1]), order)

    @tf.custom_gradient
    def loss_fn(states, table):
        packed = tf.gather(tf.reshape(states, [-1, dim]), order)
        cast_table = tf.cast(table, states.dtype)

        def loss_of_chunk(states, labels, counts):
            return _loss_of_chunk(
                states, labels, counts, cast_table, allowed, smoothing
            )

        empty = tf.zeros_like(table)
        sums = _sum_chunks(
            loss_of_chunk, packed, packed_labels, num_wanted, chunk_size, empty
        )

        def gradient(upstream, _):
            by_slots = tf.reshape(sums.by_states.stack(), [-1, dim])
            by_states = tf.reshape(tf.gather(by_slots, slots), tf.shape(states))
            return tf.cast(upstream, states.dtype) * by_states, upstream * sums.by_table

        return (sums.loss, sums.num_correct), gradient

    return loss_fn(states, table)


def _sum_chunks(
    loss_of_chunk: Callable[..., tuple[tf.Tensor, ...]],
    states: tf.Tensor,
    labels: tf.Tensor,
    num_wanted: tf.Tensor,
    chunk_size: int,
    empty_table: tf.Tensor,
) -> _Sums:
    """Adds up over chunks, from the first on, until none holds a wanted position."""
    shape = [chunk_size, states.shape[-1]]

    def add_chunk(sums):
        start = sums.chunk * chunk_size
        loss, num_correct, by_states, by_table = loss_of_chunk(
            tf.slice(states, [start, 0], shape),
            tf.slice(labels, [start], [chunk_size]),
            start + tf.range(chunk_size) < num_wanted,
        )
        return (
            _Sums(
                chunk=sums.chunk + 1,
                loss=sums.loss + loss,
                num_correct=sums.num_correct + num_correct,
                by_states=sums.by_states.write(sums.chunk, by_states),
                by_table=sums.by_table + by_table,
            ),
        )

    zero, num_chunks = tf.constant(0.0), tf.size(labels) // chunk_size
    by_states = tf.TensorArray(states.dtype, num_chunks, element_shape=shape)
    (sums,) = tf.while_loop(
        lambda sums: sums.chunk * chunk_size < num_wanted,
        add_chunk,
        (_Sums(tf.constant(0), zero, zero, by_states, empty_table),),
        parallel_iterations=1,
    )
    return sums


def _loss_of_chunk(
    states: tf.Tensor,
    labels: tf.Tensor,
    counts: tf.Tensor,
    table: tf.Tensor,
    allowed: tf.Tensor,
    smoothing: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns loss, correct positions and the gradients by states and table."""
    states = tf.where(counts[:, None], states, 0)
    loss, is_best, by_logits = smoothed_loss_and_gradient(
        tf.matmul(states, table, transpose_b=True), labels, allowed, smoothing
    )
    by_logits = tf.where(counts[:, None], by_logits, 0)
    by_table = tf.matmul(by_logits, states, transpose_a=True)
    return (
        masked_sum(loss, counts),
        count(is_best & counts),
        tf.matmul(by_logits, table),
        tf.cast(by_table, tf.float32),
    )


def _chunk_size(num_positions: int | None) -> int:
    """Returns a chunk's positions, given those of the batch, None if unknown.

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
