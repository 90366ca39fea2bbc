"""Tests of the update strategies, against the words of the paper."""

import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import strategies
from tests.decoding import oracle

LENGTH = 4
# Every valid prefix with every mask inside it.
STATES = [
    (n, [i in masked for i in range(LENGTH)])
    for n in range(LENGTH + 1)
    for size in range(n + 1)
    for masked in itertools.combinations(range(n), size)
]


class StrategiesTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(
        name=list(strategies.STRATEGIES), method=["rewritable", "candidates"]
    )
    def test_every_small_state(self, name, method):
        lengths, masks = zip(*STATES, strict=True)
        mask = tf.constant(masks)
        valid = tf.sequence_mask(lengths, LENGTH)
        strategy = strategies.STRATEGIES[name]()
        found = getattr(strategy, method)(mask, valid).numpy()
        for row, (n, masked) in enumerate(STATES):
            expected = getattr(oracle, method)(
                name, np.flatnonzero(masked).tolist(), range(n)
            )
            self.assertEqual(set(np.flatnonzero(found[row])), expected)

    def test_strategies_are_values(self):
        self.assertEqual(strategies.UpdateMasked(), strategies.UpdateMasked())
        self.assertNotEqual(strategies.UpdateMasked(), strategies.UpdateMaskedSub())
        self.assertLen(set(map(hash, [strategies.UpdateAll()] * 2)), 1)


if __name__ == "__main__":
    tf.test.main()
