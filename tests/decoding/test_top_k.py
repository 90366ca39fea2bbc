"""The best of a long axis against a stable sort."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding.top_k import blockwise_top_k


class TopKTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(
        size=(1, 127, 128, 129, 640, 1000), k=(1, 3, 10), jit_compile=(False, True)
    )
    def test_equals_a_stable_sort(self, size, k, jit_compile):
        k = min(k, size)
        rng = np.random.default_rng(size + k)
        # Few different values, so that ties fall within blocks and between them.
        x = rng.integers(0, 7, size=[2, 3, size]).astype(np.float32)
        x[0] = rng.normal(size=[3, size])
        x[rng.random(x.shape) < 0.3] = -np.inf
        x[1, 2] = -np.inf
        find = tf.function(
            lambda x: blockwise_top_k(x, k), autograph=False, jit_compile=jit_compile
        )
        values, places = find(tf.constant(x))
        wanted = np.argsort(-x, axis=-1, kind="stable")[..., :k]
        self.assertAllEqual(places, wanted)
        self.assertAllEqual(values, np.take_along_axis(x, wanted, -1))
