"""Compaction: packing and unpacking against numpy's own indexing."""

import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.compaction import ChunkSize, Compaction, in_chunks


class CompactionTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(
        share=[0.2, 0.5, 1.0], static=[False, True], capacity=[None, 24, 30]
    )
    def test_wanted_positions_come_through(self, share, static, capacity):
        rng = np.random.default_rng(1)
        wanted = rng.random([4, 6]) < share
        grid = rng.normal(size=[4, 6, 3])
        capacity = capacity if static else None
        compaction = Compaction(tf.constant(wanted), static, capacity)
        stream = compaction.pack(tf.constant(grid))
        whole = static and capacity is None
        kept = np.ones_like(wanted) if whole else wanted
        self.assertAllEqual(stream[: kept.sum()], grid[kept])
        self.assertLen(stream, capacity or kept.sum())
        filled = np.arange(len(stream)) < kept.sum()
        self.assertAllEqual(compaction.filled, filled)
        back = compaction.unpack(stream * 2).numpy()
        self.assertEqual(back.shape, grid.shape)
        self.assertAllEqual(back[wanted], grid[wanted] * 2)

    def test_select_from_another_stream(self):
        rng = np.random.default_rng(2)
        kept = rng.random([5, 7]) < 0.7
        wanted = kept & (rng.random([5, 7]) < 0.5)
        grid = rng.normal(size=[5, 7, 2])
        outer, inner = Compaction(tf.constant(kept)), Compaction(tf.constant(wanted))
        selected = inner.select_from(outer, outer.pack(tf.constant(grid)))
        self.assertAllEqual(inner.unpack(selected).numpy()[wanted], grid[wanted])


class InChunksTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(
        sizes=[
            *((n,) for n in (1, 2, 3, 4, 5, 6, 9)),
            *((1, 2), (1, 3, 4), (2, 6), (3, None), (1, 2, None), (None,)),
        ],
        jit_compile=[False, True],
    )
    def test_chunks_visit_what_is_wanted(self, sizes, jit_compile):
        sizes = [n and ChunkSize(n, n) for n in sizes]

        @tf.function(autograph=False, jit_compile=jit_compile)
        def visit(wanted):
            seen = tf.zeros([6], tf.int32)

            def number(places, capacity):
                if places is None:
                    return tf.range(6) + 10
                self.assertIn(ChunkSize(places.shape[0], capacity), sizes)
                return places + 10

            return in_chunks(number, wanted, sizes, seen)

        for bits in itertools.product([False, True], repeat=6):
            wanted = np.array(bits)
            most = max((size.places for size in sizes if size), default=0)
            at_once = sizes[-1] is None and wanted.sum() > most
            expected = np.where(wanted | at_once, np.arange(6) + 10, 0)
            if sizes == [None]:
                expected = np.arange(6) + 10
            self.assertAllEqual(visit(tf.constant(wanted)), expected)

    @parameterized.product(
        sizes=[
            *(((n, 5),) for n in (1, 2, 4, 6, 9)),
            *(((2, 5), (4, 9)), ((1, 5), (2, 7), (6, 12)), ((2, 5), (3, 8), None)),
        ],
        jit_compile=[False, True],
    )
    def test_no_chunk_weighs_too_much(self, sizes, jit_compile):
        sizes = [size and ChunkSize(*size) for size in sizes]

        @tf.function(autograph=False, jit_compile=jit_compile)
        def weigh(wanted, weights):
            def weight(places, capacity):
                if places is None:
                    return 0 * weights - 1
                inside = places < 6
                weighed = tf.gather(weights, tf.minimum(places, 5))
                total = tf.reduce_sum(tf.where(inside, weighed, 0))
                # The weight of the chunk, and of which size it is.
                return tf.zeros_like(places) + total * 100 + capacity

            empty = tf.zeros([6], tf.int32)
            return in_chunks(weight, wanted, sizes, empty, weights)

        rng = np.random.default_rng(3)
        for bits in itertools.product([False, True], repeat=6):
            wanted, weights = np.array(bits), rng.integers(1, 6, [6])
            weights = np.where(wanted, weights, 0).astype(np.int32)
            actual = weigh(tf.constant(wanted), tf.constant(weights))
            self.assertAllEqual(actual, _chunks(wanted, weights, sizes))

    def test_no_size_is_chosen_by_a_switch(self):
        # XLA would evaluate its index, and all sums that it depends on, to compile it.
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([6], tf.bool)])
        def visit(wanted):
            sizes = [ChunkSize(1, 1), ChunkSize(2, 2), None]
            return in_chunks(
                lambda places, _: tf.range(6) if places is None else places,
                *(wanted, sizes, tf.zeros([6], tf.int32)),
            )

        graph = visit.get_concrete_function().graph.as_graph_def()
        bodies = [function.node_def for function in graph.library.function]
        kinds = {node.op for nodes in [graph.node, *bodies] for node in nodes}
        self.assertNotEmpty(kinds & {"If", "StatelessIf"})
        self.assertEmpty(kinds & {"Case", "StatelessCase"})


def _chunks(wanted, weights, sizes):
    """Each place's chunk: the weight of what fits into it, and its capacity."""
    expected = np.zeros([6], np.int32)
    left = np.flatnonzero(wanted).tolist()
    while left:
        all_left = (len(left), weights[left].sum())
        fitting = (s for s in sizes if s is None or np.all(all_left <= np.array(s)))
        size = next(fitting, sizes[-1])
        if size is None:
            return np.full([6], -1)
        chunk = []
        while (
            left
            and len(chunk) < size.places
            and weights[chunk + left[:1]].sum() <= size.capacity
        ):
            chunk.append(left.pop(0))
        expected[chunk] = weights[chunk].sum() * 100 + size.capacity
    return expected


if __name__ == "__main__":
    tf.test.main()
