"""Tests of the scores."""

import math

import numpy as np
import tensorflow as tf

from cmlm_tf.decoding import scores


class LengthNormalizedScoreTest(tf.test.TestCase):
    def test_mean_over_valid_positions(self):
        rng = np.random.default_rng(4)
        log_probs = (-rng.integers(0, 40, [50, 7]) / 8).astype(np.float32)
        lengths = rng.integers(1, 8, [50])
        valid = np.arange(7) < lengths[:, None]
        expected = [
            sum(row[:n].tolist()) / n
            for row, n in zip(log_probs, lengths.tolist(), strict=True)
        ]
        log_probs[~valid] = np.nan
        score = scores.length_normalized_score(
            tf.constant(log_probs), tf.constant(valid)
        )
        self.assertEqual(score.dtype, tf.float32)
        self.assertAllEqual(score, np.float32(expected))

    def test_empty_and_impossible_rows(self):
        score = scores.length_normalized_score(
            tf.constant([[[-1.0, -2.0], [0.0, -math.inf]]]),
            tf.constant([[[False, False], [True, True]]]),
        )
        self.assertAllEqual(score, [[-math.inf, -math.inf]])


if __name__ == "__main__":
    tf.test.main()
