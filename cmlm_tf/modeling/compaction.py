"""The wanted positions of a grid as a dense stream.

Work that is done position by position (projections, feed-forward layers, the
vocabulary) runs on the stream and so skips padding and positions that nobody
asks for; attention runs on the grid.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf


class Compaction:
    """Moves values between a grid of positions and the stream of wanted ones.

    With dynamic shapes the stream holds exactly the wanted positions. With static
    shapes, as XLA needs them, it holds so many places, filled up behind the wanted
    positions, or the whole grid: the same code then computes more than is wanted.

    Attributes:
        filled: bool `[stream]`, False at the places behind the wanted positions.
    """

    def __init__(
        self, wanted: tf.Tensor, static: bool = False, capacity: int | None = None
    ):
        """Plans the moves.

        Args:
            wanted: bool `[batch, length]`, True at the positions to keep; at least
                one of them.
            static: whether the stream must have a static length.
            capacity: that length, at least the number of wanted positions; None
                keeps the whole grid.
        """
        self._whole = static and capacity is None
        self._grid_shape = tf.shape(wanted)
        flat = tf.reshape(wanted, [-1])
        if self._whole:
            self._positions = self._slots = tf.range(tf.size(flat))
            self.filled = tf.ones_like(flat)
            return
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
        return flat if self._whole else tf.gather(flat, self._positions)

    def unpack(self, stream: tf.Tensor) -> tf.Tensor:
        """Maps `[wanted, ...]` to `[batch, length, ...]`.

        Positions not wanted hold some value of the stream, to be ignored.
        """
        flat = stream if self._whole else tf.gather(stream, self._slots)
        grid = tf.reshape(flat, tf.concat([self._grid_shape, tf.shape(stream)[1:]], 0))
        return tf.ensure_shape(grid, [None, None] + stream.shape[1:])

    def unpack_heads(self, stream: tf.Tensor, rows: int | tf.Tensor = 1) -> tf.Tensor:
        """Maps `[wanted, heads, depth]` to a grid with the heads in front.

        Args:
            stream: float `[wanted, heads, depth]`.
            rows: so many rows of the grid are joined into one.

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


def wanted_places(wanted: tf.Tensor, size: int) -> tf.Tensor:
    """Lists the wanted places, in order, with a static shape.

    >>> wanted_places(tf.constant([False, True, False, True]), 3).numpy().tolist()
    [1, 3, 4]

    Args:
        wanted: bool `[n]`, True at no more than `size` places.
        size: how many to list.

    Returns:
        int32 `[size]`; behind the wanted places comes `n`.
    """
    n = tf.size(wanted)
    slots = tf.where(wanted, tf.cumsum(tf.cast(wanted, tf.int32)) - 1, size)
    listed = tf.fill([size + 1], n)  # The last place takes what is not wanted.
    return tf.tensor_scatter_nd_update(listed, slots[:, None], tf.range(n))[:size]


def take(x: Any, places: tf.Tensor | None) -> Any:
    """Reads nested tensors at int32 places of the first axis.

    Places behind the end read the last one; None reads all.
    """
    if places is None:
        return x

    def read(one):
        return tf.gather(one, tf.minimum(places, tf.shape(one)[0] - 1))

    return tf.nest.map_structure(read, x)


class ChunkSize(NamedTuple):
    """How much one call may take.

    Attributes:
        places: the most places.
        capacity: the most that they may weigh together, at least what any one does.
    """

    places: int
    capacity: int


def in_chunks(
    do: Callable[[tf.Tensor | None, int | None], Any],
    wanted: tf.Tensor,
    sizes: Sequence[ChunkSize | None],
    empty: Any,
    weights: tf.Tensor | None = None,
) -> Any:
    """Goes through what is wanted, so many at a time, with static shapes.

    Each chunk has the smallest size that holds all that is left, or else the largest
    one. So XLA computes little where little is wanted, though all shapes are static.

    >>> wanted = tf.constant([False, True, False, True, True])
    >>> numbers = tf.range(5)
    >>> def square(places, capacity):
    ...     return take(numbers, places) ** 2
    >>> sizes = [ChunkSize(1, 1), ChunkSize(2, 2)]
    >>> in_chunks(square, wanted, sizes, tf.zeros_like(numbers)).numpy().tolist()
    [0, 1, 0, 9, 16]

    Args:
        do: maps int32 places, as many as a size has, and the size's capacity to
            values, nested tensors with the same first axis. Places of `n` fill a
            chunk up; their values are ignored. None and None stand for all places.
        wanted: bool `[n]`, True at the wanted places.
        sizes: in rising order. The last may be None, for all places at once; if it is
            the only one, `n` need not be known.
        empty: nested tensors `[n, ...]`, the values where nothing is wanted, unless
            all places are computed at once.
        weights: int32 `[n]`, what each place weighs, or None for one each.

    Returns:
        The values, nested tensors `[n, ...]`.
    """
    bounded = [size for size in sizes if size is not None]
    if not bounded:
        return do(None, None)
    total = wanted.shape[0]
    most = max(size.places for size in bounded)
    order = wanted_places(wanted, total + most)
    num_wanted = tf.reduce_sum(tf.cast(wanted, tf.int32))
    # What fills up weighs nothing.
    if weights is None:
        upto = tf.minimum(tf.range(1, total + most + 1), num_wanted)
    else:
        upto = tf.cumsum(tf.gather(tf.pad(weights, [[0, 1]]), order))

    def one_chunk(start, values):
        before = tf.where(start > 0, tf.gather(upto, tf.maximum(start - 1, 0)), 0)

        def of_size(size):
            if size is None:
                new = do(None, None)
                # One place more takes what only fills a chunk up.
                return num_wanted, tf.nest.map_structure(_with_room, new)
            places = tf.slice(order, [start], [size.places])
            here = tf.slice(upto, [start], [size.places]) - before
            fits = (here <= size.capacity) & (places < total)
            places = tf.where(fits, places, total)
            taken = tf.reduce_sum(tf.cast(fits, tf.int32))
            return start + taken, tf.nest.map_structure(
                lambda all_, new: tf.tensor_scatter_nd_update(
                    all_, places[:, None], new
                ),
                values,
                do(places, size.capacity),
            )

        left, weight_left = num_wanted - start, upto[-1] - before

        def smallest_of(size, *larger):
            if not larger:
                return of_size(size)
            # Not a switch: its index XLA tries to evaluate while it compiles, sums
            # over all places included, which takes minutes.
            return tf.cond(
                (left <= size.places) & (weight_left <= size.capacity),
                partial(of_size, size),
                partial(smallest_of, *larger),
            )

        return smallest_of(*sizes)

    state = tf.constant(0), tf.nest.map_structure(_with_room, empty)
    if sizes[-1] is None:
        _, values = one_chunk(*state)
    else:
        _, values = tf.while_loop(lambda start, _: start < num_wanted, one_chunk, state)
    return tf.nest.map_structure(lambda x: x[:total], values)


def _with_room(x: tf.Tensor) -> tf.Tensor:
    return tf.concat([x, x[:1]], 0)


def in_pieces(
    do: Callable[[tf.Tensor], tuple[tf.Tensor, ...]],
    size: tf.Tensor,
    most: int,
    dtypes: tuple[tf.DType, ...],
) -> tuple[tf.Tensor, ...]:
    """Goes through all places, so many at a time, with dynamic shapes.

    >>> squares, = in_pieces(lambda places: (places**2,), 5, 2, (tf.int32,))
    >>> squares.numpy().tolist()
    [0, 1, 4, 9, 16]

    Args:
        do: maps int32 places, at most `most`, to tensors `[places]`.
        size: int32 scalar, the number of places, at least 1.
        most: places of a piece.
        dtypes: of the tensors.

    Returns:
        The tensors `[size]`.
    """
    num_pieces = -(-size // most)

    def one_piece(piece, arrays):
        start = piece * most
        values = do(tf.range(start, tf.minimum(start + most, size)))
        written = zip(arrays, values, strict=True)
        return piece + 1, tuple(array.write(piece, v) for array, v in written)

    arrays = tuple(
        tf.TensorArray(dtype, num_pieces, infer_shape=False, element_shape=[None])
        for dtype in dtypes
    )
    _, arrays = tf.while_loop(
        lambda piece, _: piece < num_pieces, one_piece, (tf.constant(0), arrays)
    )
    return tuple(array.concat() for array in arrays)
