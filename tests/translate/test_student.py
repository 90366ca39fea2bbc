"""Fast decoding of a real model against one row at a time in plain Python."""

import functools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.modeling.output import best_tokens
from cmlm_tf.modeling.passes import DynamicPasses, StaticPasses
from cmlm_tf.translate.graphs import as_arrays
from cmlm_tf.translate.options import UnmaskingOptions
from cmlm_tf.translate.student import Decode
from tests.decoding import oracle
from tests.modeling.small import make_student, random_sources, sentence_batch

MASK = 4
BEAM = 3
STUDENT = make_student(seed=5, spread=4.0)
SETTINGS = {
    "mask_predict": 3,
    "fixed_k": 2,
    "thresh": 0.3,
    "comb_thresh": 0.2,
    "fcomb_thresh": 0.2,
}


@tf.function(autograph=False, reduce_retracing=True)
def padded_model(batch):
    """The whole model on one sentence, every position."""
    return best_tokens(STUDENT(batch)[0][0], STUDENT.banned_ids)


def predict_alone(source):
    """The padded model on one row: what the oracle's loop calls."""

    def predict(seen):
        ids = np.array([[MASK if i is None else i for i in seen]], np.int32)
        batch = sentence_batch(source[None], ids, np.ones_like(ids) > 0)
        ids, log_probs = padded_model(batch)
        return ids.numpy().tolist(), log_probs.numpy().tolist()

    return predict


@functools.cache
def decode_function(heuristic, strategy, static=False, **kwargs):
    """Traces the decoding of `[batch, sources]` once for all tests."""
    options = UnmaskingOptions(
        *(heuristic, SETTINGS[heuristic], strategy, BEAM), **kwargs
    )
    passes = (StaticPasses if static else DynamicPasses)(STUDENT)
    decode, length = Decode(passes, options), 24 if static else None
    setting = tf.constant(SETTINGS[heuristic])
    return tf.function(
        lambda ids: decode(ids, None, setting, tf.constant(6), length),
        autograph=False,
        jit_compile=static,
        input_signature=[tf.TensorSpec([4, 6] if static else [None, None], tf.int32)],
    )


class StudentTest(tf.test.TestCase, parameterized.TestCase):
    def decode(self, sources, *args, **kwargs):
        run = decode_function(*args, **kwargs)
        return as_arrays(run(tf.constant(sources)))

    @parameterized.product(heuristic=list(HEURISTICS), strategy=list(STRATEGIES))
    def test_equals_one_row_at_a_time(self, heuristic, strategy):
        sources = random_sources(4, 6, seed=8)
        result = self.decode(sources, heuristic, strategy, trace=True)
        for row, source in enumerate(sources):
            predict = predict_alone(source[source != 0])
            scores = []
            for c, length in enumerate(result.lengths[row]):
                states = oracle.unmask_row(
                    predict, length, heuristic, SETTINGS[heuristic], strategy, 6
                )
                ids, log_probs, _ = states[-1]
                self.assertEqual(result.token_ids[row, c, :length].tolist(), ids)
                self.assertFalse(result.token_ids[row, c, length:].any())
                self.assertEqual(result.num_iterations[row, c], len(states) - 1)
                scores.append(sum(log_probs) / length)
                for step, (ids, _, masked) in enumerate(states[1:]):
                    found = result.trace.mask[row, c, step, :length]
                    self.assertEqual(set(np.flatnonzero(found)), masked)
                    found = result.trace.token_ids[row, c, step, :length]
                    self.assertEqual(found.tolist(), ids)
            self.assertAllClose(result.scores[row], scores, atol=1e-3)
            self.assertEqual(result.best[row], np.argmax(scores))

    @parameterized.product(heuristic=["mask_predict", "comb_thresh"])
    def test_xla_with_static_shapes_is_the_same(self, heuristic):
        sources = random_sources(4, 6, seed=9)
        dynamic = self.decode(sources, heuristic, "update_masked_sub")
        static = self.decode(sources, heuristic, "update_masked_sub", static=True)
        length = dynamic.token_ids.shape[2]
        self.assertAllEqual(static.token_ids[:, :, :length], dynamic.token_ids)
        self.assertAllEqual(static.num_iterations, dynamic.num_iterations)
        self.assertAllEqual(static.best, dynamic.best)
        self.assertAllClose(static.scores, dynamic.scores, atol=1e-3)
