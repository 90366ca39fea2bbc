"""Tests of the loop that forbids repeats within a pass."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from tests import tiny_models
from tests.decoding import loop_cases, table_model

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

    def test_xla_equals_eager(self):
        rows = loop_cases.random_rows("thresh", num_rows=60)

        def decode():
            return unmask("thresh", "update_all", *rows)

        compiled = tf.function(decode, jit_compile=True, autograph=False)
        tf.nest.map_structure(np.testing.assert_array_equal, decode(), compiled())

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
