"""Tests of giving up length candidates that can only lose."""

import functools
import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import heuristics, loop, scores
from cmlm_tf.decoding.candidates import best_candidate
from tests.decoding import loop_cases


def run(log_probs, sizes, candidates):
    """Unmasks one token a pass; the model writes 8 with these log-probabilities."""
    ids = tf.fill(log_probs.shape, 8)
    return loop_cases.run(
        lambda input_ids, wanted: (ids, log_probs),
        tf.sequence_mask(sizes, log_probs.shape[1]),
        loop.Unmasking(heuristics.MaskPredictFixedK(1), drop_losing_candidates=True),
        candidates_per_sentence=candidates,
    )


class DropLosingCandidatesTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*heuristics.HEURISTICS)
    def test_the_winner_is_the_same(self, heuristic):
        b, num_sentences = 4, 300
        sizes, sources, settings = loop_cases.random_rows(heuristic, b * num_sentences)
        valid = tf.sequence_mask(sizes, loop_cases.LENGTH)
        args = valid, tf.constant(sources), tf.constant(settings)
        run = tf.function(
            functools.partial(
                loop_cases.unmask,
                heuristic,
                "update_masked_sub",
                max_iterations=30,
                trace=False,
            ),
            autograph=False,
        )
        full = run(*args)
        pruned = run(*args, candidates_per_sentence=b, drop_losing_candidates=True)
        self.assertFalse(np.any(full.dropped))
        dropped = pruned.dropped.numpy()
        self.assertTrue(np.any(dropped))

        final = scores.length_normalized_score(full.log_probs, valid)
        best = best_candidate(tf.reshape(final, [-1, b]))
        kept = scores.length_normalized_score(pruned.log_probs, valid)
        kept = tf.where(pruned.dropped, -math.inf, kept)
        self.assertAllEqual(best_candidate(tf.reshape(kept, [-1, b])), best)
        for before, after in zip(full[:3], pruned[:3], strict=True):
            self.assertAllEqual(before.numpy()[~dropped], after.numpy()[~dropped])
        saved = full.num_iterations.numpy() - pruned.num_iterations.numpy()
        self.assertAllEqual(saved > 0, dropped)

    def test_dropped_as_soon_as_the_bound_is_strictly_below(self):
        # One token a pass. Row 0 ends after pass 1 with a score of -0.5.
        # Row 1 has -1.5 / 3 after pass 2, a tie: it goes on.
        # Row 2 has -0.5 / 4 after pass 2 and -2.25 / 4 after pass 3: dropped.
        # Rows 3 to 5 are another sentence's; the empty one is no winner.
        log_probs = tf.constant(
            [
                [-0.5, 0.0, 0.0, 0.0],
                [-0.75, -0.75, -0.75, 0.0],
                [-0.25, -0.25, -1.75, -4.0],
                [-9.0, -9.0, -9.0, -9.0],
                [-8.0, -9.0, -9.0, -9.0],
                [0.0, 0.0, 0.0, 0.0],
            ]
        )
        result = run(log_probs, [1, 3, 4, 4, 4, 0], 3)
        self.assertAllEqual(result.dropped, [False, False, True, False, False, False])
        self.assertAllEqual(result.num_iterations, [1, 3, 3, 4, 4, 0])

    def test_an_impossible_finished_row_drops_nothing(self):
        log_probs = tf.constant([[-math.inf, 0.0], [-1.0, -math.inf]])
        result = run(log_probs, [1, 2], 2)
        self.assertAllEqual(result.dropped, [False, False])
