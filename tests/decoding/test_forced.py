"""Forced decoding: a proper distribution over the targets of one length."""

import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import heuristics, loop
from cmlm_tf.decoding.forced import Forced
from tests.decoding import loop_cases

WORDS = (5, 6, 7)
LENGTH = 4
TARGETS = np.array(list(itertools.product(WORDS, repeat=LENGTH)), np.int32)


def distributions(seen):
    """The words' probabilities at each position of a row, given what it sees."""
    rng = np.random.default_rng(list(seen))
    return rng.dirichlet([0.7] * len(WORDS), size=LENGTH).astype(np.float32)


def predict(targets):
    """What `Forced` asks of a model."""

    def run(input_ids, wanted):
        del wanted
        probs = np.stack([distributions(row) for row in input_ids.numpy()])
        index = targets - WORDS[0]
        given = np.take_along_axis(probs, index[..., None], axis=-1)[..., 0]
        logs = (tf.math.log(given), tf.math.log(probs.max(-1)))
        return tf.constant(targets), *logs

    return run


def decode(predict_fn, heuristic, rows):
    valid = tf.ones([rows, LENGTH], tf.bool)
    return loop_cases.run(predict_fn, valid, loop.Unmasking(heuristic))


class ForcedTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*heuristics.HEURISTICS)
    def test_probabilities_of_all_targets_sum_to_one(self, name):
        for setting in loop_cases.SETTINGS[name]:
            heuristic = heuristics.HEURISTICS[name](setting)
            forced = Forced(predict(TARGETS))
            result = decode(forced.predict, forced.heuristic(heuristic), len(TARGETS))
            self.assertAllEqual(result.token_ids, TARGETS)
            log_probs = tf.reduce_sum(result.log_probs, axis=1)
            self.assertAllClose(tf.reduce_sum(tf.exp(log_probs)), 1.0, atol=1e-5)

    @parameterized.parameters(*heuristics.HEURISTICS)
    def test_the_own_output_has_its_own_score(self, name):
        def best(input_ids, wanted):
            del wanted
            probs = np.stack([distributions(row) for row in input_ids.numpy()])
            return probs.argmax(-1).astype(np.int32) + WORDS[0], np.log(probs.max(-1))

        for setting in loop_cases.SETTINGS[name]:
            heuristic = heuristics.HEURISTICS[name](setting)
            own = decode(best, heuristic, 1)
            forced = Forced(predict(own.token_ids.numpy()))
            again = decode(forced.predict, forced.heuristic(heuristic), 1)
            self.assertAllClose(again.log_probs, own.log_probs, atol=1e-6)
            self.assertAllEqual(again.num_iterations, own.num_iterations)
