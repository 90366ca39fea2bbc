"""Tests of the length beam, the oracle lengths, scores and the best candidate."""

import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import lengths
from cmlm_tf.decoding.candidates import best_candidate
from cmlm_tf.decoding.scores import length_normalized_score

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


class OracleLengthsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(
        ([7, 1], 0, 9, [[7], [1]]),
        # Impossible lengths are empty.
        ([1, 6], 2, 6, [[1, 0, 2, 0, 3], [6, 5, 0, 4, 0]]),
        ([7, 0], 2, 6, [[0, 6, 0, 5, 0], [0, 0, 1, 0, 2]]),
    )
    def test_reference_first_then_outwards(self, references, spread, most, expected):
        found = lengths.oracle_lengths(tf.constant(references), spread, most)
        self.assertAllEqual(found, expected)


class BestCandidateTest(tf.test.TestCase, parameterized.TestCase):
    def test_scores_of_empty_and_impossible_rows(self):
        log_probs = tf.constant([[-1.0, -2.0], [0.0, -INF], [-3.0, -INF]])
        valid = tf.constant([[False, False], [True, True], [True, False]])
        score = length_normalized_score(log_probs, valid)
        self.assertAllEqual(score, [-INF, -INF, -3.0])

    @parameterized.parameters(False, True)
    def test_first_of_equals(self, jit_compile):
        choose = tf.function(best_candidate, jit_compile=jit_compile)
        scores = [
            [-1.0, -0.5, -0.5],
            [-0.0, 0.0, 0.0],
            [-INF, -INF, -3.0],
            [-INF, -INF, -INF],
        ]
        best = choose(tf.constant(scores))
        self.assertEqual(best.dtype, tf.int32)
        self.assertAllEqual(best, [1, 0, 2, 0])
