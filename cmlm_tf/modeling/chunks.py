"""Work done a part at a time, so that little is computed where little is wanted.

With static shapes, as XLA needs them, in chunks of a few sizes; with dynamic shapes
in pieces as large as a device bears.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

#: Positions of a chunk's grid, padding included, for each of its subwords.
_GRID_PER_TOKEN = 3


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


DoFn = Callable[[tf.Tensor | None, int | None], Any]


class ChunkSize(NamedTuple):
    """How much one call may take.

    Attributes:
        places: the most places.
        capacity: the most that they may weigh together, at least what any one does.
    """

    places: int
    capacity: int


def in_chunks(
    do: DoFn,
    wanted: tf.Tensor,
    sizes: Sequence[ChunkSize | None],
    empty: Any,
    weights: tf.Tensor | None = None,
) -> Any:
    """Goes through what is wanted, some at a time, with static shapes.

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
    queue = _Queue(wanted, weights, max(size.places for size in bounded))

    def one_chunk(start: tf.Tensor, values: Any) -> tuple[tf.Tensor, Any]:
        left = queue.num_wanted - start
        weight_left = queue.upto[-1] - queue.before(start)

        def smallest_of(size: ChunkSize | None, *larger: ChunkSize | None) -> Any:
            chunk = partial(_do_chunk, do, queue, size, start, values)
            if size is None or not larger:
                return chunk()
            # Not a switch: its index XLA tries to evaluate while it compiles, sums
            # over all places included, which takes minutes.
            fits = (left <= size.places) & (weight_left <= size.capacity)
            return tf.cond(fits, chunk, partial(smallest_of, *larger))

        return smallest_of(*sizes)

    state = tf.constant(0), tf.nest.map_structure(_with_room, empty)
    if sizes[-1] is None:
        _, values = one_chunk(*state)
    else:
        _, values = tf.while_loop(
            lambda start, _: start < queue.num_wanted, one_chunk, state
        )
    return tf.nest.map_structure(lambda x: x[: wanted.shape[0]], values)


class _Queue:
    """The wanted places in order, and behind them `total`, which fills a chunk up."""

    def __init__(self, wanted: tf.Tensor, weights: tf.Tensor | None, room: int):
        self.total = wanted.shape[0]
        size = self.total + room
        self.order = wanted_places(wanted, size)
        self.num_wanted = tf.reduce_sum(tf.cast(wanted, tf.int32))
        # What fills up weighs nothing.
        if weights is None:
            self.upto = tf.minimum(tf.range(1, size + 1), self.num_wanted)
        else:
            self.upto = tf.cumsum(tf.gather(tf.pad(weights, [[0, 1]]), self.order))

    def before(self, start: tf.Tensor) -> tf.Tensor:
        """Returns the weight of all in front of a place of the queue."""
        return tf.where(start > 0, tf.gather(self.upto, tf.maximum(start - 1, 0)), 0)

    def chunk(self, start: tf.Tensor, size: ChunkSize) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the places of the next chunk, and how many of them are wanted."""
        places = tf.slice(self.order, [start], [size.places])
        here = tf.slice(self.upto, [start], [size.places]) - self.before(start)
        fits = (here <= size.capacity) & (places < self.total)
        taken = tf.reduce_sum(tf.cast(fits, tf.int32))
        return tf.where(fits, places, self.total), taken


def _do_chunk(
    do: DoFn, queue: _Queue, size: ChunkSize | None, start: tf.Tensor, values: Any
) -> tuple[tf.Tensor, Any]:
    """Returns where the next chunk starts, and the values after this one."""
    if size is None:
        # One place more takes what only fills a chunk up.
        return queue.num_wanted, tf.nest.map_structure(_with_room, do(None, None))
    places, taken = queue.chunk(start, size)
    return start + taken, tf.nest.map_structure(
        lambda all_, new: tf.tensor_scatter_nd_update(all_, places[:, None], new),
        values,
        do(places, size.capacity),
    )


def _with_room(x: tf.Tensor) -> tf.Tensor:
    return tf.concat([x, x[:1]], 0)


def in_pieces(
    do: Callable[[tf.Tensor], tuple[tf.Tensor, ...]],
    size: tf.Tensor,
    most: int,
    dtypes: tuple[tf.DType, ...],
) -> tuple[tf.Tensor, ...]:
    """Goes through all places, some at a time, with dynamic shapes.

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


def token_sizes(
    shape: tf.TensorShape, chunk_tokens: Sequence[int]
) -> list[ChunkSize | None]:
    """Returns how many sentences and subwords go through the decoder at a time.

    Args:
        shape: sentences, candidates and length.
        chunk_tokens: see `StaticPasses`.
    """

    def size(tokens: int) -> ChunkSize:
        grid = shape[1] * shape[2]
        sentences = max(_GRID_PER_TOKEN * tokens // grid, 1)
        return ChunkSize(min(sentences, shape[0]), max(tokens, grid))

    return _sizes(chunk_tokens, shape.num_elements(), size)


def logit_sizes(
    positions: int | None, chunk_logits: Sequence[int]
) -> list[ChunkSize | None]:
    """Returns how many of the positions go through the vocabulary at a time."""
    return _sizes(chunk_logits, positions, lambda n: ChunkSize(n, n))


def _sizes(
    steps: Sequence[int], total: int | None, size: Callable[[int], ChunkSize]
) -> list[ChunkSize | None]:
    """Returns a size for at most a quarter, and one for all or the largest."""
    if total is None:  # Shapes are known to XLA alone.
        return [None]
    *smaller, largest = map(size, steps)
    last = None if total <= steps[-1] else largest
    most = total if last is None else last.capacity
    return [*[s for s in smaller if 4 * s.capacity <= most][-1:], last]
