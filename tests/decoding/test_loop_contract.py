"""Tests of what the loop promises to models and callers."""

import itertools
import random

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import heuristics, loop, strategies
from tests.decoding import loop_cases, table_model


class ContractTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*strategies.STRATEGIES)
    def test_what_the_model_is_asked(self, strategy):
        sizes, sources, settings = loop_cases.random_rows("fixed_k")
        asked = []
        model = table_model.make_predict_fn(sources)

        def predict(input_ids, wanted):
            asked.append((input_ids.numpy(), wanted.numpy()))
            return model(input_ids, wanted)

        valid = tf.sequence_mask(sizes, loop_cases.LENGTH).numpy()
        unmasking = loop.Unmasking(
            heuristics.MaskPredictFixedK(tf.constant(settings)),
            strategies.STRATEGIES[strategy](),
            loop_cases.MAX_ITERATIONS,
            trace=True,
        )
        result = loop_cases.run(predict, valid, unmasking)
        self.assertLen(asked, result.num_iterations.numpy().max())
        mask = valid
        for t, (input_ids, wanted) in enumerate(asked):
            self.assertAllEqual(input_ids == table_model.PAD_ID, ~valid)
            self.assertAllEqual(input_ids == table_model.MASK_ID, mask)
            if t:
                seen = valid & ~mask
                before = result.trace.token_ids[:, t - 1].numpy()
                self.assertAllEqual(input_ids[seen], before[seen])
            active = mask.any(axis=1, keepdims=True)
            base = valid if strategy == "update_all" else mask
            self.assertAllEqual(wanted, base & active)
            mask = result.trace.mask[:, t].numpy()

    @parameterized.parameters(*strategies.STRATEGIES)
    def test_last_pass_of_each_row(self, strategy):
        sizes, sources, settings = rows = loop_cases.random_rows("thresh")
        limits = [random.Random(s).randint(1, 5) for s in sources]
        result = loop_cases.unmask(
            "thresh",
            strategy,
            tf.sequence_mask(sizes, loop_cases.LENGTH),
            tf.constant(sources),
            tf.constant(settings),
            max_iterations=tf.constant(limits),
            trace=False,
        )
        self.assertIsNone(result.trace)
        loop_cases.assert_equals_oracle(result, rows, "thresh", strategy, limits)

    @parameterized.parameters(*heuristics.HEURISTICS)
    def test_partly_observed_target(self, heuristic):
        sizes, sources, settings = rows = loop_cases.random_rows(heuristic)
        rng = random.Random(2)
        given, initial_ids = [], []
        for size in sizes:
            density = rng.choice([0.0, 0.5, 1.0])
            observed = {i: i + 6 for i in range(size) if rng.random() < density}
            given.append(list(observed.items()))
            # Whatever stands at padding is ignored.
            initial_ids.append(
                [observed.get(i, table_model.MASK_ID) for i in range(loop_cases.LENGTH)]
            )
        result = loop_cases.unmask(
            heuristic,
            "update_masked_sub",
            tf.sequence_mask(sizes, loop_cases.LENGTH),
            tf.constant(sources),
            tf.constant(settings),
            initial_ids=tf.constant(initial_ids),
            max_iterations=30,
            trace=False,
        )
        strategy = "update_masked_sub"
        loop_cases.assert_equals_oracle(result, rows, heuristic, strategy, 30, given)

    def test_nothing_to_fill(self):
        @tf.function(
            input_signature=[tf.TensorSpec([None, None], tf.bool)], autograph=False
        )
        def run(valid):
            sources = tf.constant([1, 2])
            return loop_cases.unmask("fixed_k", "update_all", valid, sources, 1)

        result = run(tf.zeros([2, 3], tf.bool))
        self.assertAllEqual(result.num_iterations, [0, 0])
        self.assertAllEqual(result.token_ids, np.full([2, 3], table_model.PAD_ID))
        self.assertEqual(result.trace.mask.shape, [2, loop_cases.MAX_ITERATIONS, 3])
        self.assertFalse(np.any(result.trace.mask))

    @parameterized.parameters(*heuristics.HEURISTICS)
    def test_settings_as_tensors_do_not_retrace(self, heuristic):
        traces = []

        @tf.function(autograph=False)
        def run(valid, sources, setting, max_iterations):
            traces.append(1)
            return loop_cases.unmask(
                heuristic,
                "update_masked_sub",
                valid,
                sources,
                setting,
                max_iterations=max_iterations,
                trace=False,
            )

        valid, sources = tf.sequence_mask([3, 5], 6), tf.constant([1, 2])
        for setting, limit in itertools.product(
            loop_cases.SETTINGS[heuristic][:4], [2, 9]
        ):
            run(valid, sources, tf.constant(setting), tf.constant(limit))
        self.assertLen(traces, 1)

    def test_one_row_of_unknown_shapes(self):
        # A static dimension of 1 would broadcast with an unknown one.
        @tf.function(autograph=False)
        def run(anything):
            def predict(input_ids, wanted):
                del input_ids, wanted
                return tf.cast(anything, tf.int32), -anything

            unmasking = loop.Unmasking(heuristics.MaskPredictFixedK(1))
            return loop_cases.run(predict, tf.ones([1, 2], tf.bool), unmasking)

        spec = tf.TensorSpec([None, None], tf.float32)
        result = run.get_concrete_function(spec)(tf.constant([[8.0, 9.0]]))
        self.assertAllEqual(result.token_ids, [[8, 9]])
        self.assertEqual(result.token_ids.shape, [1, 2])

    def test_a_trace_holds_the_passes_of_the_row_with_the_most(self):
        result = loop_cases.unmask(
            "fixed_k",
            "update_all",
            tf.ones([2, 3], tf.bool),
            tf.constant([1, 2]),
            1,
            max_iterations=tf.constant([1, 3]),
        )
        self.assertAllEqual(tf.shape(result.trace.mask), [2, 3, 3])
        masked = tf.reduce_sum(tf.cast(result.trace.mask, tf.int32), axis=2)
        self.assertAllEqual(masked, [[0, 0, 0], [2, 1, 0]])

    @parameterized.parameters("update_all", "update_masked")
    def test_dropping_needs_scores_that_only_fall(self, strategy):
        with self.assertRaisesRegex(ValueError, "needs UpdateMaskedSub"):
            loop.Unmasking(
                heuristics.MaskPredictFixedK(1),
                strategies.STRATEGIES[strategy](),
                drop_losing_candidates=True,
            )

    @parameterized.parameters(*strategies.STRATEGIES)
    def test_without_a_bound_there_are_as_many_passes_as_positions(self, strategy):
        result = loop_cases.unmask(
            *("thresh", strategy, tf.ones([1, 3], tf.bool), tf.constant([1]), 1.0),
            max_iterations=None,
        )
        self.assertEqual(result.trace.mask.shape, [1, 3, 3])
        self.assertFalse(np.any(result.trace.mask[:, -1]))
