"""The wanted positions of a grid as a dense stream.

Work that is done position by position (projections, feed-forward layers, the
vocabulary) runs on the stream and so skips padding and positions that nobody
asks for; attention runs on the grid.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


class Compaction:
    """Moves values between a grid of positions and the stream of wanted ones.

    With dynamic shapes the stream holds exactly the wanted positions. With
    static shapes, as XLA needs them, it holds the whole grid: the same code
    then computes every position, and those not wanted are ignored.
    """

    def __init__(self, wanted: tf.Tensor, static: bool):
        """Plans the moves.

        Args:
            wanted: bool `[batch, length]`, True at the positions to keep; at least
                one of them.
            static: whether the stream must have a static length.
        """
        self._static = static
        self._grid_shape = tf.shape(wanted)
        flat = tf.reshape(wanted, [-1])
        if static:
            self._positions = self._slots = tf.range(tf.size(flat))
        else:
            self._positions = tf.cast(tf.where(flat)[:, 0], tf.int32)
            self._slots = tf.maximum(tf.cumsum(tf.cast(flat, tf.int32)) - 1, 0)

    def pack(self, grid: tf.Tensor) -> tf.Tensor:
        """Maps `[batch, length, ...]` to the stream `[wanted, ...]`."""
        flat = tf.reshape(grid, tf.concat([[-1], tf.shape(grid)[2:]], 0))
        flat = tf.ensure_shape(flat, [None] + grid.shape[2:])
        return flat if self._static else tf.gather(flat, self._positions)

    def unpack(self, stream: tf.Tensor) -> tf.Tensor:
        """Maps `[wanted, ...]` to `[batch, length, ...]`.

        Positions not wanted hold some value of the stream, to be ignored.
        """
        flat = stream if self._static else tf.gather(stream, self._slots)
        grid = tf.reshape(flat, tf.concat([self._grid_shape, tf.shape(stream)[1:]], 0))
        return tf.ensure_shape(grid, [None, None] + stream.shape[1:])

    def select_from(self, other: "Compaction", stream: tf.Tensor) -> tf.Tensor:
        """Picks this compaction's positions from another's stream.

        Args:
            other: a compaction of the same grid that keeps at least these.
            stream: `[kept by other, ...]`.

        Returns:
            `[wanted, ...]`.
        """
        if self._static:
            return stream
        return tf.gather(stream, tf.gather(other._slots, self._positions))


Chunk = Callable[[tf.Tensor | None, Any], Any]


def take(x: Any, places: tf.Tensor | None) -> Any:
    """Reads nested tensors at int32 places of the first axis; None is all of it."""
    if places is None:
        return x
    return tf.nest.map_structure(lambda one: tf.gather(one, places), x)


def put(x: Any, places: tf.Tensor | None, values: Any) -> Any:
    """Returns nested tensors with values at places of the first axis; as `take`."""
    if places is None:
        return values
    return tf.nest.map_structure(
        lambda one, new: tf.tensor_scatter_nd_update(one, places[:, None], new),
        x,
        values,
    )


def in_chunks(do: Chunk, wanted: tf.Tensor, most: int | None, state: Any) -> Any:
    """Goes through what is wanted, so many at a time, with static shapes.

    The number of chunks follows from how many are wanted, so that XLA skips most of
    the others though all shapes are static.

    >>> wanted = tf.constant([False, True, False, True, True])
    >>> numbers = tf.range(5)
    >>> def square(places, squares):
    ...     return put(squares, places, take(numbers, places) ** 2)
    >>> squares = in_chunks(square, wanted, 2, tf.zeros_like(numbers))
    >>> tf.boolean_mask(squares, wanted).numpy().tolist()
    [1, 9, 16]

    Args:
        do: maps places to the new state, of the same structure; `take` and `put`
            read and write there. Behind the last wanted place come some that are
            not wanted, and some may come twice.
        wanted: bool `[n]`, True at the wanted places.
        most: places of a chunk. With None, or if there are no more than that, or
            `n` is not known, all is one call with None for the places.
        state: nested tensors.

    Returns:
        The last state.
    """
    total = wanted.shape[0]
    if most is None or total is None or most >= total:
        return do(None, state)
    size = -(-total // -(-total // most))  # All chunks alike.
    order = tf.argsort(tf.cast(~wanted, tf.int32), stable=True)
    num_wanted = tf.reduce_sum(tf.cast(wanted, tf.int32))

    def one_chunk(start, state):
        places = tf.slice(order, [tf.minimum(start, total - size)], [size])
        return start + size, do(places, state)

    return tf.while_loop(
        lambda start, _: start < num_wanted, one_chunk, (tf.constant(0), state)
    )[1]
