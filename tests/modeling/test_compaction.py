"""Compaction: packing and unpacking against numpy's own indexing."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.compaction import Compaction


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


if __name__ == "__main__":
    tf.test.main()
