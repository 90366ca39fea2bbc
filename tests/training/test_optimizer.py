import keras
import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.packed_weights import to_vector
from cmlm_tf.training.optimizer import Adam


class AdamTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(jit_compile=(False, True), updates_before_writing=(1, 5))
    def test_equals_the_paper_with_clipping_and_average(
        self, jit_compile, updates_before_writing
    ):
        """Kingma & Ba (2015), algorithm 1, epsilon as in its section 2's end."""
        rng = np.random.default_rng(0)
        rate, beta_1, beta_2, epsilon, decay, clip = 0.1, 0.9, 0.98, 1e-9, 0.7, 1.5
        weights = [rng.normal(size=shape) for shape in ([3, 2], [4])]
        variables = [keras.Variable(w.astype(np.float32)) for w in weights]
        optimizer = Adam(variables, lambda step: rate, clip, average_decay=decay)
        next_state = tf.function(optimizer.next_state, jit_compile=jit_compile)
        state = optimizer.read_state()
        m, v = ([np.zeros_like(w) for w in weights] for _ in range(2))
        averages = None
        for step in range(1, 6):
            gradients = [rng.normal(size=w.shape).astype("float32") for w in weights]
            norm = np.sqrt(sum((g**2).sum() for g in gradients))
            clipped = [g * min(1, clip / norm) for g in gradients]
            m = [beta_1 * a + (1 - beta_1) * g for a, g in zip(m, clipped, strict=True)]
            v = [
                beta_2 * a + (1 - beta_2) * g**2
                for a, g in zip(v, clipped, strict=True)
            ]
            size = rate * np.sqrt(1 - beta_2**step) / (1 - beta_1**step)
            weights = [
                w - size * a / (np.sqrt(b) + epsilon)
                for w, a, b in zip(weights, m, v, strict=True)
            ]
            averages = [
                w if averages is None else decay * a + (1 - decay) * w
                for w, a in zip(weights, averages or weights, strict=True)
            ]
            state = next_state(state, to_vector([tf.constant(g) for g in gradients]))
            if step % updates_before_writing == 0:
                optimizer.write_state(state)
                state = optimizer.read_state()
        self.assertEqual(optimizer.step, 5)
        for variable, weight in zip(variables, weights, strict=True):
            self.assertAllClose(variable, weight, rtol=1e-4, atol=1e-5)
        for variable, average in zip(optimizer.averages, averages, strict=True):
            self.assertAllClose(variable, average, rtol=1e-4, atol=1e-5)
