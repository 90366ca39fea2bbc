"""Compaction: packing and unpacking against numpy's own indexing."""

import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.compaction import Compaction, in_chunks


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
    @parameterized.product(most=[1, 2, 3, 4, 5, 6, 9], jit_compile=[False, True])
    def test_chunks_visit_what_is_wanted(self, most, jit_compile):
        @tf.function(autograph=False, jit_compile=jit_compile)
        def visit(wanted):
            seen = tf.zeros([6], tf.int32)

            def number(places):
                if places is None:
                    return tf.range(6) + 10
                return places + 10

            return in_chunks(number, wanted, most, seen)

        for bits in itertools.product([False, True], repeat=6):
            wanted = np.array(bits)
            expected = np.where(wanted | (most >= 6), np.arange(6) + 10, 0)
            self.assertAllEqual(visit(tf.constant(wanted)), expected)

    @parameterized.product(most=[1, 2, 4, 6, 9], jit_compile=[False, True])
    def test_no_chunk_weighs_too_much(self, most, jit_compile):
        capacity = 5

        @tf.function(autograph=False, jit_compile=jit_compile)
        def weigh(wanted, weights):
            def weight(places):
                inside = places < 6
                weighed = tf.gather(weights, tf.minimum(places, 5))
                total = tf.reduce_sum(tf.where(inside, weighed, 0))
                return tf.zeros_like(places) + total

            empty = tf.zeros([6], tf.int32)
            return in_chunks(weight, wanted, most, empty, weights, capacity)

        rng = np.random.default_rng(3)
        for bits in itertools.product([False, True], repeat=6):
            wanted, weights = np.array(bits), rng.integers(1, capacity + 1, [6])
            weights = np.where(wanted, weights, 0).astype(np.int32)
            actual = weigh(tf.constant(wanted), tf.constant(weights))
            self.assertAllEqual(actual, _weights(wanted, weights, most, capacity))


def _weights(wanted, weights, most, capacity):
    """The weight of each place's chunk if each takes as many places as fit."""
    chunks = []
    for place in np.flatnonzero(wanted):
        last = chunks[-1] if chunks else None
        if (
            last is not None
            and len(last) < most
            and weights[last].sum() + weights[place] <= capacity
        ):
            last.append(place)
        else:
            chunks.append([place])
    expected = np.zeros([6], np.int32)
    for chunk in chunks:
        expected[chunk] = weights[chunk].sum()
    return expected


if __name__ == "__main__":
    tf.test.main()
