"""Every row by the heuristic and the setting that it asks for."""

import random

import numpy as np
import tensorflow as tf

from cmlm_tf.decoding import heuristics, loop
from cmlm_tf.decoding.rowwise import RowwiseHeuristic
from tests.decoding import loop_cases, oracle, table_model

NAMES = list(heuristics.HEURISTICS)


class RowwiseTest(tf.test.TestCase):
    def test_equals_plain_python_row_by_row(self):
        sizes, sources, _ = loop_cases.random_rows("fixed_k")
        rng = random.Random(4)
        rules = [rng.choice(NAMES) for _ in sizes]
        settings = [rng.choice(loop_cases.SETTINGS[rule]) for rule in rules]
        result = loop.iterative_unmask(
            table_model.make_predict_fn(sources),
            tf.sequence_mask(sizes, loop_cases.LENGTH),
            RowwiseHeuristic(
                tf.constant([NAMES.index(rule) for rule in rules]),
                tf.constant(settings, tf.float32),
            ),
            mask_id=table_model.MASK_ID,
            pad_id=table_model.PAD_ID,
            max_iterations=loop_cases.MAX_ITERATIONS,
        )
        for row, (size, source) in enumerate(zip(sizes, sources, strict=True)):
            states = oracle.unmask_row(
                lambda seen, source=source: table_model.predict_row(source, seen),
                size,
                rules[row],
                settings[row],
                "update_masked_sub",
                loop_cases.MAX_ITERATIONS,
            )
            ids, log_probs, _ = states[-1]
            self.assertAllEqual(result.token_ids[row, :size], np.array(ids, np.int32))
            self.assertAllEqual(result.log_probs[row, :size], np.array(log_probs))
            self.assertAllEqual(result.num_iterations[row], len(states) - 1)


if __name__ == "__main__":
    tf.test.main()
