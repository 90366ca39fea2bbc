"""The variants that benchmarks/optimizations.py times compute the same."""

from unittest import mock

import tensorflow as tf
from absl.testing import parameterized

from benchmarks.switched_student import OPTIMIZATIONS, SwitchedPasses, variants
from cmlm_tf.modeling.output import best_tokens
from tests.modeling.test_student import (
    padded_outputs,
    predicted_rows,
    predicting_student,
)


class OptimizationsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(name=list(variants()), candidates=[1, 3])
    def test_equals_the_padded_model(self, name, candidates):
        sources, ids, _, masked = predicted_rows(candidates)
        student = predicting_student()
        cache, _ = student.start(tf.constant(sources))
        passes = SwitchedPasses(student, variants()[name])
        predict = passes.predict_fn(cache, candidates)
        found, log_probs = tf.function(predict, autograph=False)(
            tf.constant(ids), tf.constant(masked)
        )
        logits, _ = padded_outputs(candidates)
        expected, expected_log_probs = best_tokens(logits, student.banned_ids)
        self.assertAllEqual(found[masked], expected[masked])
        self.assertAllClose(log_probs[masked], expected_log_probs[masked], atol=1e-4)

    @parameterized.parameters(
        ("wanted_logits", "logits"),
        ("wanted_last_layer", "queries"),
        ("finished_leave", "logits"),
        ("no_padding", "logits"),
    )
    def test_computes_less_than_without(self, name, what):
        with_it = variants()[name]
        without = self._computed(with_it - {name}, what)
        self.assertLess(self._computed(with_it, what), without)

    def test_sources_are_shared(self):
        sources, ids, _, masked = predicted_rows(3)
        student = predicting_student()
        cache, _ = student.start(tf.constant(sources))
        for name, times in ("shared_sources", []), ("plain", [3]):
            predict = SwitchedPasses(student, variants()[name]).predict_fn(cache, 3)
            with mock.patch.object(tf, "repeat", wraps=tf.repeat) as repeat:
                predict(tf.constant(ids), tf.constant(masked))
            repeated = {call.args[1] for call in repeat.call_args_list}
            self.assertEqual(list(repeated), times)

    def test_every_one_is_off_in_one_variant_of_the_whole(self):
        for name in OPTIMIZATIONS:
            self.assertNotIn(name, variants()[f"all but {name}"])
            self.assertIn(name, variants()[name])

    def _computed(self, switched_on, what) -> int:
        """Returns how many positions a pass computes logits or queries of."""
        sources, ids, _, masked = predicted_rows(1)
        masked = masked.copy()
        masked[0] = False
        model = predicting_student()
        cache, _ = model.start(tf.constant(sources))
        if what == "logits":
            owner = model.embedding
        else:
            owner = model.decoder.layers[-1].self_attention
        compute = getattr(owner, what)
        with mock.patch.object(owner, what, side_effect=compute) as called:
            predict = SwitchedPasses(model, switched_on).predict_fn(cache, 1)
            predict(tf.constant(ids), tf.constant(masked))
        return sum(int(call.args[0].shape[0]) for call in called.call_args_list)


if __name__ == "__main__":
    tf.test.main()
