"""Compaction: packing and unpacking against numpy's own indexing."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.compaction import Compaction, WholeGrid


class CompactionTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(share=[0.2, 0.5, 1.0], capacity=[None, 24, 30, "whole"])
    def test_wanted_positions_come_through(self, share, capacity):
        rng = np.random.default_rng(1)
        wanted = rng.random([4, 6]) < share
        grid = rng.normal(size=[4, 6, 3])
        kept, compaction = wanted, None
        if capacity == "whole":
            compaction, kept, capacity = WholeGrid(wanted), np.ones_like(wanted), None
        compaction = compaction or Compaction(tf.constant(wanted), capacity)
        stream = compaction.pack(tf.constant(grid))
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


if __name__ == "__main__":
    tf.test.main()
