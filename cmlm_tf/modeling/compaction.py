"""The wanted positions of a grid as a dense stream.

Work that is done position by position (projections, feed-forward layers, the
vocabulary) runs on the stream and so skips padding and positions that nobody
asks for; attention runs on the grid.
"""

import tensorflow as tf

from cmlm_tf.modeling.chunks import wanted_places
from cmlm_tf.modeling.layers import attend
from cmlm_tf.modeling.transformer import Decoder, MemoryCache


class Compaction:
    """Moves values between a grid of positions and the stream of wanted ones.

    Attributes:
        filled: bool `[stream]`, False at the places behind the wanted positions.
    """

    def __init__(self, wanted: tf.Tensor, capacity: int | None = None):
        """Plans the moves.

        Args:
            wanted: bool `[batch, length]`, True at the positions to keep; at least
                one of them.
            capacity: the length of the stream where it must be static, at least the
                number of wanted positions, behind which it is filled up; None for
                exactly the wanted positions.
        """
        self._grid_shape = tf.shape(wanted)
        flat = tf.reshape(wanted, [-1])
        self._slots = tf.maximum(tf.cumsum(tf.cast(flat, tf.int32)) - 1, 0)
        if capacity is None:
            self._positions = tf.cast(tf.where(flat)[:, 0], tf.int32)
            self.filled = tf.ones_like(self._positions, tf.bool)
        else:
            places = wanted_places(flat, capacity)
            self.filled = places < tf.size(flat)
            self._positions = tf.where(self.filled, places, 0)

    def pack(self, grid: tf.Tensor) -> tf.Tensor:
        """Maps `[batch, length, ...]` to the stream `[wanted, ...]`."""
        flat = tf.reshape(grid, tf.concat([[-1], tf.shape(grid)[2:]], 0))
        flat = tf.ensure_shape(flat, [None] + grid.shape[2:])
        return self._from_flat(flat)

    def unpack(self, stream: tf.Tensor) -> tf.Tensor:
        """Maps `[wanted, ...]` to `[batch, length, ...]`.

        Positions not wanted hold some value of the stream, to be ignored.
        """
        flat = self._to_flat(stream)
        grid = tf.reshape(flat, tf.concat([self._grid_shape, tf.shape(stream)[1:]], 0))
        return tf.ensure_shape(grid, [None, None] + stream.shape[1:])

    def unpack_heads(self, stream: tf.Tensor, rows: int | tf.Tensor = 1) -> tf.Tensor:
        """Maps `[wanted, heads, depth]` to a grid with the heads in front.

        Args:
            stream: float `[wanted, heads, depth]`.
            rows: how many rows of the grid are joined into one.

        Returns:
            `[batch / rows, heads, rows * length, depth]`.
        """
        batch, length = tf.unstack(self._grid_shape)
        heads, depth = stream.shape[1:]
        slots = tf.reshape(self._slots, [batch // rows, 1, rows * length])
        places = slots * heads + tf.range(heads)[:, None]
        return tf.gather(tf.reshape(stream, [-1, depth]), places)

    def pack_heads(self, grid: tf.Tensor) -> tf.Tensor:
        """Maps such a grid, of rows joined or not, to `[wanted, heads, depth]`."""
        heads, length, depth = grid.shape[1], tf.shape(grid)[2], grid.shape[3]
        row, column = self._positions // length, self._positions % length
        places = (row[:, None] * heads + tf.range(heads)) * length + column[:, None]
        return tf.gather(tf.reshape(grid, [-1, depth]), places)

    def select_from(self, other: "Compaction", stream: tf.Tensor) -> tf.Tensor:
        """Picks this compaction's positions from another's stream.

        Args:
            other: a compaction of the same grid that keeps at least these.
            stream: `[kept by other, ...]`.

        Returns:
            `[wanted, ...]`.
        """
        return tf.gather(stream, tf.gather(other._slots, self._positions))

    def _from_flat(self, flat: tf.Tensor) -> tf.Tensor:
        return tf.gather(flat, self._positions)

    def _to_flat(self, stream: tf.Tensor) -> tf.Tensor:
        return tf.gather(stream, self._slots)


class WholeGrid(Compaction):
    """The same moves where the stream holds every position: nothing is skipped."""

    def __init__(self, wanted: tf.Tensor):
        """Plans the moves; only the shape of bool `[batch, length]` counts."""
        self._grid_shape = tf.shape(wanted)
        flat = tf.reshape(wanted, [-1])
        self._positions = self._slots = tf.range(tf.size(flat))
        self.filled = tf.ones_like(flat)

    def _from_flat(self, flat: tf.Tensor) -> tf.Tensor:
        return flat

    def _to_flat(self, stream: tf.Tensor) -> tf.Tensor:
        return stream


def run_decoder(
    decoder: Decoder,
    memory: MemoryCache,
    x: tf.Tensor,
    streams: tuple[Compaction, Compaction],
    allowed: tuple[tf.Tensor, tf.Tensor],
    num_candidates: int | tf.Tensor,
) -> tf.Tensor:
    """Runs all layers of a decoder, attention on grids and all else on streams.

    Args:
        decoder: of a student.
        memory: of the sources; see `SourceCache`.
        x: float `[stream, model_dim]`.
        streams: of `x`, and of the positions whose last states are wanted.
        allowed: bool, where targets and where sources may be looked at, broadcast to
            `[rows, heads, length, length]` and
            `[sentences, heads, num_candidates * length, sources]`.
        num_candidates: rows of a sentence.

    Returns:
        float `[wanted, model_dim]`.
    """
    tokens, targets = streams

    def run(layer, keys_values, x, queried):
        def attend_self(q, k, v):
            k, v = tokens.unpack_heads(k), tokens.unpack_heads(v)
            grid = attend(queried.unpack_heads(q), k, v, allowed[0], "bhtd")
            return queried.pack_heads(grid)

        def attend_memory(q):
            # The candidates of a sentence look at its source side by side.
            grid = queried.unpack_heads(q, num_candidates)
            keys, values = keys_values
            return queried.pack_heads(attend(grid, keys, values, allowed[1], "bhtd"))

        def select(y):
            return y if queried is tokens else queried.select_from(tokens, y)

        return layer(
            x, attend_self=attend_self, attend_memory=attend_memory, select=select
        )

    *earlier, last = zip(decoder.layers, memory, strict=True)
    for layer in earlier:
        x = run(*layer, x, tokens)
    return decoder.norm(run(*last, x, targets))
