"""Tests of the loop over every heuristic and strategy, with the table model."""

import functools
import random

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.decoding import strategies
from tests.decoding import loop_cases


@functools.cache
def graph_of(heuristic, strategy):
    """The loop as one graph for all shapes, autograph off as in an export."""
    setting_dtype = tf.constant(loop_cases.SETTINGS[heuristic]).dtype
    return tf.function(
        functools.partial(loop_cases.unmask, heuristic, strategy),
        input_signature=[
            tf.TensorSpec([None, None], tf.bool),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None], setting_dtype),
        ],
        autograph=False,
    )


def run_graph(heuristic, strategy, sizes, sources, settings, length=loop_cases.LENGTH):
    return graph_of(heuristic, strategy)(
        tf.sequence_mask(sizes, length), tf.constant(sources), tf.constant(settings)
    )


@functools.cache
def random_result(heuristic, strategy):
    return run_graph(heuristic, strategy, *loop_cases.random_rows(heuristic))


def assert_same(expected, actual):
    tf.nest.map_structure(np.testing.assert_array_equal, expected, actual)


def crop(result):
    """Takes padding away that not every batch has."""
    longest = int(tf.reduce_max(tf.reduce_sum(tf.sign(result.token_ids), axis=1)))
    return tf.nest.map_structure(
        lambda x: x[..., :longest] if x.shape.rank > 1 else x, result
    )


class EveryCombinationTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_equals_a_plain_python_loop(self, heuristic, strategy):
        loop_cases.assert_equals_oracle(
            random_result(heuristic, strategy),
            *(loop_cases.random_rows(heuristic), heuristic, strategy),
        )

    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_progress_and_end(self, heuristic, strategy):
        result = random_result(heuristic, strategy)
        sizes = np.array(loop_cases.random_rows(heuristic)[0])
        mask = result.trace.mask.numpy()
        self.assertFalse(mask[:, -1].any())
        num_masked = np.concatenate([sizes[:, None], mask.sum(axis=2)], axis=1)
        was_active = num_masked[:, :-1] > 0
        self.assertAllEqual(result.num_iterations, was_active.sum(axis=1))
        if strategy == "update_masked_sub":
            self.assertAllEqual(num_masked[:, 1:] < num_masked[:, :-1], was_active)
            self.assertFalse(np.any(mask[:, 1:] & ~mask[:, :-1]))

    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_a_row_depends_on_no_other_row_and_no_padding(self, heuristic, strategy):
        sizes, sources, settings = loop_cases.random_rows(heuristic)
        result = random_result(heuristic, strategy)
        shuffled = random.Random(1).sample(
            range(loop_cases.NUM_ROWS), loop_cases.NUM_ROWS
        )
        groups = [shuffled[:100], shuffled[100:], *([row] for row in shuffled[:12])]
        for group in groups:
            columns = [[c[row] for row in group] for c in (sizes, sources, settings)]
            length = max(columns[0]) + 1 + len(group) % 3
            part = run_graph(heuristic, strategy, *columns, length=length)
            take = functools.partial(tf.gather, indices=group)
            same_rows = tf.nest.map_structure(take, result)
            assert_same(crop(same_rows), crop(part))

    @parameterized.parameters(loop_cases.EVERY_COMBINATION)
    def test_eager_and_xla_equal_the_graph(self, heuristic, strategy):
        sizes, sources, settings = loop_cases.random_rows(heuristic)
        args = tf.sequence_mask(sizes, loop_cases.LENGTH), tf.constant(sources)
        args += (tf.constant(settings),)
        function = functools.partial(loop_cases.unmask, heuristic, strategy)
        compiled = tf.function(function, jit_compile=True, autograph=False)
        graph = random_result(heuristic, strategy)
        assert_same(graph, function(*args))
        assert_same(graph, compiled(*args))


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

    @parameterized.parameters(*strategies.STRATEGIES)
    def test_ten_tokens_in_ten_passes(self, strategy):
        result = loop_cases.unmask(
            "mask_predict",
            strategy,
            tf.ones([1, 10], tf.bool),
            tf.constant([3]),
            10,
            max_iterations=12,
        )
        self.assertAllEqual(result.num_iterations, [10])
        masked = np.sum(result.trace.mask, axis=2)[0]
        self.assertAllEqual(masked, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0])


if __name__ == "__main__":
    tf.test.main()
