"""Every row by the heuristic and the setting that it asks for."""

import random

import tensorflow as tf

from cmlm_tf.decoding import heuristics, loop
from cmlm_tf.decoding.rowwise import RowwiseHeuristic
from tests.decoding import loop_cases, table_model

NAMES = list(heuristics.HEURISTICS)


class RowwiseTest(tf.test.TestCase):
    def test_equals_plain_python_row_by_row(self):
        sizes, sources, _ = loop_cases.random_rows("fixed_k")
        rng = random.Random(4)
        rules = [rng.choice(NAMES) for _ in sizes]
        settings = [rng.choice(loop_cases.SETTINGS[rule]) for rule in rules]
        rowwise = RowwiseHeuristic(
            tf.constant([NAMES.index(rule) for rule in rules]),
            tf.constant(settings, tf.float32),
        )
        result = loop_cases.run(
            table_model.make_predict_fn(sources),
            tf.sequence_mask(sizes, loop_cases.LENGTH),
            loop.Unmasking(rowwise, max_iterations=loop_cases.MAX_ITERATIONS),
        )
        rows, strategy = (sizes, sources, settings), "update_masked_sub"
        loop_cases.assert_equals_oracle(result, rows, rules, strategy)
