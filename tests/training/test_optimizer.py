import keras
import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.packed_weights import to_vector
from cmlm_tf.training.optimizer import Adam


class AdamTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(jit_compile=(False, True), updates_before_writing=(1, 5))
    def test_equals_keras_with_clipping_and_average(
        self, jit_compile, updates_before_writing
    ):
        rng = np.random.default_rng(0)
        first = [rng.normal(size=shape).astype("float32") for shape in ([3, 2], [4])]
        weights, expected = ([keras.Variable(w) for w in first] for _ in range(2))
        reference = keras.optimizers.Adam(
            *(0.1, 0.9, 0.98, 1e-9),
            global_clipnorm=1.5,
            use_ema=True,
            ema_momentum=0.7,
        )
        optimizer = Adam(weights, lambda step: 0.1, 1.5, average_decay=0.7)
        next_state = tf.function(optimizer.next_state, jit_compile=jit_compile)
        state = optimizer.read_state()
        for step in range(1, 6):
            gradients = [
                tf.constant(rng.normal(size=w.shape), tf.float32) for w in first
            ]
            reference.apply(gradients, expected)
            state = next_state(state, to_vector(gradients))
            if step % updates_before_writing == 0:
                optimizer.write_state(state)
                state = optimizer.read_state()
        self.assertEqual(optimizer.step, 5)
        for weight, value in zip(weights, expected, strict=True):
            self.assertAllClose(weight, value, rtol=1e-4, atol=1e-5)
        reference.finalize_variable_values(expected)
        for average, value in zip(optimizer.averages, expected, strict=True):
            self.assertAllClose(average, value, rtol=1e-4, atol=1e-5)
