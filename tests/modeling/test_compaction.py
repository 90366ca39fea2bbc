"""Compaction: packing and unpacking against numpy's own indexing."""

import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.compaction import Compaction, in_chunks


class CompactionTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(share=[0.2, 0.5, 1.0], static=[False, True])
    def test_wanted_positions_come_through(self, share, static):
        rng = np.random.default_rng(1)
        wanted = rng.random([4, 6]) < share
        grid = rng.normal(size=[4, 6, 3])
        compaction = Compaction(tf.constant(wanted), static)
        stream = compaction.pack(tf.constant(grid))
        self.assertAllEqual(stream, grid.reshape(24, 3) if static else grid[wanted])
        back = compaction.unpack(stream * 2).numpy()
        self.assertEqual(back.shape, grid.shape)
        self.assertAllEqual(back[wanted], grid[wanted] * 2)

    @parameterized.product(static=[False, True])
    def test_select_from_another_stream(self, static):
        rng = np.random.default_rng(2)
        kept = rng.random([5, 7]) < 0.7
        wanted = kept & (rng.random([5, 7]) < 0.5)
        grid = rng.normal(size=[5, 7, 2])
        outer = Compaction(tf.constant(kept), static)
        inner = Compaction(tf.constant(wanted), static)
        selected = inner.select_from(outer, outer.pack(tf.constant(grid)))
        self.assertAllEqual(inner.unpack(selected).numpy()[wanted], grid[wanted])

    @parameterized.product(most=[1, 2, 3, 4, 5, 6, 9], jit_compile=[False, True])
    def test_chunks_visit_all_that_is_wanted_and_little_else(self, most, jit_compile):
        @tf.function(jit_compile=jit_compile)
        def visit(wanted):
            def count(places, counts):
                places = tf.range(6) if places is None else places
                return tf.tensor_scatter_nd_add(
                    counts, places[:, None], tf.ones_like(places)
                )

            return in_chunks(count, wanted, most, tf.zeros([6], tf.int32))

        for bits in itertools.product([False, True], repeat=6):
            wanted = np.array(bits)
            counts = visit(tf.constant(wanted)).numpy()
            self.assertTrue((counts[wanted] >= 1).all())
            size = {1: 1, 2: 2, 3: 3, 4: 3, 5: 3}.get(most, 6)
            num_chunks = -(-wanted.sum() // size) if most < 6 else 1
            self.assertEqual(counts.sum(), num_chunks * size)


if __name__ == "__main__":
    tf.test.main()
