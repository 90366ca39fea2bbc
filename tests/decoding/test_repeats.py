"""Tests of the loop that forbids repeats within a pass."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding.repeats import weaker_repeats
from tests import tiny_models
from tests.decoding import loop_cases, oracle, table_model

_NUM_WORDS = 3


def few_words(ids):
    """Maps the table's many words to few, so that neighbours are often equal."""
    return table_model.FIRST_WORD_ID + ids % _NUM_WORDS


def predict_row(source, seen):
    ids, log_probs = table_model.predict_row(source, seen)
    return [few_words(i) for i in ids], log_probs


def make_predict_fn(sources):
    predict = table_model.make_predict_fn(sources)

    def predict_fn(input_ids, wanted):
        ids, log_probs = predict(input_ids, wanted)
        return tf.where(wanted, few_words(ids), -7), log_probs

    return predict_fn


def unmask(heuristic, strategy, sizes, sources, settings, **options):
    return loop_cases.unmask(
        heuristic,
        strategy,
        tf.sequence_mask(sizes, loop_cases.LENGTH),
        tf.constant(sources),
        tf.constant(settings),
        make_predict_fn,
        forbid_repeats=True,
        **options,
    )


class WeakerRepeatsTest(parameterized.TestCase):
    def test_equals_the_rule_on_random_rows(self):
        rng = np.random.default_rng(5)
        shape = (400, 9)
        ids = rng.integers(0, 3, shape, np.int32)
        log_probs = -rng.integers(0, 4, shape).astype(np.float32)
        log_probs[rng.random(shape) < 0.1] = -np.inf
        written = rng.random(shape) < 0.8
        found = weaker_repeats(ids, log_probs, written).numpy()
        for row in range(shape[0]):
            places = set(np.flatnonzero(written[row]).tolist())
            expected = oracle.weaker_repeats(ids[row], log_probs[row], places)
            self.assertEqual(set(np.flatnonzero(found[row]).tolist()), expected)

    def test_rows_without_positions(self):
        empty = tf.zeros([2, 0])
        found = weaker_repeats(tf.cast(empty, tf.int32), empty, empty < 0)
        self.assertEqual(found.shape, [2, 0])


class ForbidRepeatsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_equals_a_plain_python_loop(self, heuristic, strategy):
        rows = loop_cases.random_rows(heuristic, num_rows=100)
        loop_cases.assert_equals_oracle(
            unmask(heuristic, strategy, *rows),
            *(rows, heuristic, strategy),
            predict_row=predict_row,
            forbid_repeats=True,
        )

    @parameterized.parameters(*loop_cases.SETTINGS)
    def test_no_pass_writes_a_repeat(self, heuristic):
        sizes, *others = loop_cases.random_rows(heuristic)
        result = unmask(
            heuristic, "update_masked_sub", sizes, *others, max_iterations=11
        )
        self.assertFalse(result.trace.mask.numpy()[:, -1].any())
        valid = np.arange(loop_cases.LENGTH) < np.array(sizes)[:, None]
        masked = np.concatenate([valid[:, None], result.trace.mask], axis=1)
        written = masked[:, :-1] & ~masked[:, 1:]
        self.assertTrue(np.array_equal(written.any(-1), masked[:, :-1].any(-1)))
        ids = result.trace.token_ids.numpy()
        both = written[..., 1:] & written[..., :-1]
        self.assertTrue(both.any())
        self.assertFalse((both & (ids[..., 1:] == ids[..., :-1])).any())

    @parameterized.parameters(*loop_cases.SETTINGS)
    def test_xla_equals_eager(self, heuristic):
        rows = loop_cases.random_rows(heuristic, num_rows=60)
        compiled = tf.function(
            lambda: unmask(heuristic, "update_all", *rows),
            jit_compile=True,
            autograph=False,
        )
        eager = unmask(heuristic, "update_all", *rows)
        tf.nest.map_structure(np.testing.assert_array_equal, eager, compiled())

    def test_the_student_writes_no_repeat_and_may_drop_losers(self):
        translator = tiny_models.translator("student")
        lines = ["the small cat sees one dog and two trees", "two dogs"]
        options = {"heuristic": "mask_predict", "setting": 1, "forbid_repeats": True}
        traced = translator.translate(lines, trace=True, **options)
        for candidate in (c for t in traced for c in t.candidates[0]):
            masked = np.ones(len(candidate.tokens), bool)
            for step in candidate.passes:
                written = np.flatnonzero(masked & ~np.array(step["mask"]))
                ids = np.array(step["token_ids"])
                close = written[:-1][np.diff(written) == 1]
                self.assertFalse((ids[close] == ids[close + 1]).any())
                masked = np.array(step["mask"])
            self.assertFalse(masked.any())
        fast = translator.translate(lines, drop_losing_candidates=True, **options)
        self.assertEqual([t.text for t in fast], [t.text for t in traced])


if __name__ == "__main__":
    tf.test.main()
