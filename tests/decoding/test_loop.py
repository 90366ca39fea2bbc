"""Tests of the loop over every heuristic and strategy, with the table model."""

import functools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import strategies
from tests.decoding import loop_cases


@functools.cache
def inputs(heuristic):
    """Random rows: what is no padding, source numbers and settings."""
    sizes, *others = loop_cases.random_rows(heuristic)
    return tf.sequence_mask(sizes, loop_cases.LENGTH), *map(tf.constant, others)


@functools.cache
def random_result(heuristic, strategy):
    """Of the loop as one graph for all shapes, autograph off as in an export."""
    decode = functools.partial(loop_cases.unmask, heuristic, strategy)
    args = inputs(heuristic)
    signature = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in args]
    return tf.function(decode, signature, autograph=False)(*args)


class EveryCombinationTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_equals_a_plain_python_loop(self, heuristic, strategy):
        """So a row depends on no other row and on no padding either."""
        loop_cases.assert_equals_oracle(
            random_result(heuristic, strategy),
            *(loop_cases.random_rows(heuristic), heuristic, strategy),
        )

    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_eager_and_xla_equal_the_graph(self, heuristic, strategy):
        function = functools.partial(loop_cases.unmask, heuristic, strategy)
        compiled = tf.function(function, jit_compile=True, autograph=False)
        graph = random_result(heuristic, strategy)
        for run in (function, compiled):
            found = run(*inputs(heuristic))
            tf.nest.map_structure(np.testing.assert_array_equal, graph, found)


class ScheduleTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*strategies.STRATEGIES)
    def test_observed_after_each_pass(self, strategy):
        sizes, _, totals = loop_cases.random_rows("mask_predict")
        mask = random_result("mask_predict", strategy).trace.mask.numpy()
        for row, (n, total) in enumerate(zip(sizes, totals, strict=True)):
            expected = [
                min(n, t * -(-n // total)) for t in range(1, loop_cases.MAX_ITERATIONS)
            ]
            observed = n - mask[row, :-1].sum(axis=1)
            self.assertEqual(observed.tolist(), expected)
