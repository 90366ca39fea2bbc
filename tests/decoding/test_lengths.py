"""Tests of the length beam, the oracle lengths and the selection."""

import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import lengths

INF = math.inf


class LengthBeamTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(1, 3, 9)
    def test_most_probable_lengths_shorter_of_equals_first(self, b):
        rng = np.random.default_rng(3)
        logits = rng.integers(-3, 3, [200, 9]).astype(np.float32)
        expected = [
            sorted(range(1, 10), key=lambda n, row=row: (-row[n - 1], n))[:b]
            for row in logits
        ]
        beam = lengths.length_beam(tf.constant(logits), b)
        self.assertEqual(beam.dtype, tf.int32)
        self.assertAllEqual(beam, expected)


class OracleLengthsTest(tf.test.TestCase):
    def test_without_spread(self):
        found = lengths.oracle_lengths(tf.constant([7, 1]), 0, 9)
        self.assertAllEqual(found, [[7], [1]])

    def test_reference_first_then_outwards(self):
        found = lengths.oracle_lengths(tf.constant([5]), 3, 100)
        self.assertAllEqual(found, [[5, 4, 6, 3, 7, 2, 8]])

    def test_impossible_lengths_are_empty(self):
        found = lengths.oracle_lengths(tf.constant([1, 6, 7, 0]), 2, 6)
        self.assertAllEqual(
            found, [[1, 0, 2, 0, 3], [6, 5, 0, 4, 0], [0, 6, 0, 5, 0], [0, 0, 1, 0, 2]]
        )


class ValidPositionsTest(tf.test.TestCase):
    def test_any_shape(self):
        valid = lengths.valid_positions(tf.constant([[0, 1], [2, 3]]), 3)
        self.assertAllEqual(
            valid,
            [
                [[False, False, False], [True, False, False]],
                [[True, True, False], [True, True, True]],
            ],
        )


class SelectBestTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(False, True)
    def test_first_of_equals(self, jit_compile):
        select = tf.function(lengths.select_best, jit_compile=jit_compile)
        scores = [
            [-1.0, -0.5, -0.5],
            [-0.0, 0.0, 0.0],
            [-INF, -INF, -3.0],
            [-INF, -INF, -INF],
        ]
        best = select(tf.constant(scores))
        self.assertEqual(best.dtype, tf.int32)
        self.assertAllEqual(best, [1, 0, 2, 0])

    def test_dropped_candidates_lose(self):
        scores = tf.constant([[-1.0, -0.5, -2.0], [-9.0, -0.1, -0.2]])
        dropped = tf.constant([[False, True, False], [False, True, True]])
        scores = tf.where(dropped, -INF, scores)
        self.assertAllEqual(lengths.select_best(scores), [0, 0])


if __name__ == "__main__":
    tf.test.main()
