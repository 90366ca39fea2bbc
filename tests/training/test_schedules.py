import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.training.schedules import InverseSquareRoot


class InverseSquareRootTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(warmup=[1, 7, 4000], scale=[1.0, 0.3])
    def test_equals_the_formula(self, warmup, scale):
        schedule = InverseSquareRoot(512, warmup, scale)
        for done in (0, 1, 6, 7, 8, 3999, 4000, 100_000):
            step = done + 1
            rate = scale * 512**-0.5 * min(step**-0.5, step * warmup**-1.5)
            np.testing.assert_allclose(schedule(tf.constant(done)), rate, rtol=1e-5)

    @parameterized.parameters(1, 3, 10, 40)
    def test_cools_down_to_zero_after_the_last_update(self, cooldown):
        usual = InverseSquareRoot(64, 5, 0.7)
        cooling = InverseSquareRoot(64, 5, 0.7, max_steps=40, cooldown_steps=cooldown)
        for done in range(45):
            share = min(max(40 - done, 0) / cooldown, 1)
            np.testing.assert_allclose(cooling(done), usual(done) * share, rtol=1e-5)
