"""Attention and the length classifier against plain numpy."""

import numpy as np
import tensorflow as tf

from cmlm_tf.modeling.embedding import sinusoidal_positions
from cmlm_tf.modeling.layers import (
    LAYER_NORM_EPSILON,
    attend,
    dtype_policy,
    heads_first,
    layer_norm,
)
from tests.modeling.small import make_student


def softmax(x):
    """Plain softmax of a vector."""
    weights = np.exp(x - x.max())
    return weights / weights.sum()


class LayersTest(tf.test.TestCase):
    def test_attention_equals_a_loop(self):
        rng = np.random.default_rng(0)
        q, k, v = (rng.normal(size=[2, n, 3, 4]) for n in (5, 6, 6))
        allowed = rng.random([2, 1, 5, 6]) < 0.6
        allowed[..., 0] = True
        keys, values = heads_first(tf.constant(k)), heads_first(tf.constant(v))
        found = attend(tf.constant(q), keys, values, tf.constant(allowed))
        for b, t, h in np.ndindex(2, 5, 3):
            seen = np.flatnonzero(allowed[b, 0, t])
            weights = softmax(k[b, seen, h] @ q[b, t, h])
            self.assertAllClose(found[b, t, h], weights @ v[b, seen, h], atol=1e-5)

    def test_layer_norm_follows_the_formula_in_training_and_otherwise(self):
        rng = np.random.default_rng(3)
        x, gamma, beta = (rng.normal(size=n) + 2 for n in ((2, 3, 8), 8, 8))
        x[0, 0] = 5.0  # No variance.
        variance = x.var(-1, keepdims=True) + LAYER_NORM_EPSILON
        expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(variance) * gamma + beta
        for dtype, tolerance in (("float32", 1e-4), ("bfloat16", 0.05)):
            with dtype_policy(dtype):
                norm = layer_norm(8)
            norm.set_weights([gamma, beta])
            for training in (False, True):
                found = norm(tf.constant(x, dtype), training=training)
                self.assertEqual(found.dtype, dtype)
                wide = max(tolerance, 1e-3 * training)  # Keras subtracts large numbers.
                self.assertAllClose(tf.cast(found, tf.float64), expected, wide, wide)

    def test_logits_are_products_with_the_table(self):
        embedding = make_student().embedding
        table = embedding.table.numpy()
        states = np.random.default_rng(2).normal(size=[2, 3, table.shape[1]])
        states = states.astype(np.float32)
        self.assertAllClose(embedding.logits(tf.constant(states)), states @ table.T)
        with embedding.reading(embedding.output_copy()):
            self.assertAllClose(embedding.logits(tf.constant(states)), states @ table.T)
        self.assertIsNone(embedding.output_table)

    def test_positions_follow_the_formula(self):
        table = sinusoidal_positions(7, 8)
        for position, i in np.ndindex(7, 4):
            angle = position / 10000 ** (2 * i / 8)
            self.assertAllClose(table[position, i], np.sin(angle), atol=1e-6)
            self.assertAllClose(table[position, i + 4], np.cos(angle), atol=1e-6)
