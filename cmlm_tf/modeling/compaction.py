"""The wanted positions of a grid as a dense stream.

Work that is done position by position (projections, feed-forward layers, the
vocabulary) runs on the stream and so skips padding and positions that nobody
asks for; attention runs on the grid.
"""

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
