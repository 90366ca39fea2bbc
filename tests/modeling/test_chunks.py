"""Chunks: what is wanted is visited once, by the smallest size that holds it."""

import itertools

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.modeling.chunks import ChunkSize, in_chunks


class InChunksTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(
        sizes=[
            *(((n, n),) for n in (1, 3, 6, 9)),
            *(((n, 5),) for n in (1, 2, 4, 6, 9)),
            *(((1, 1), (3, 3), (4, 4)), ((2, 2), (6, 6)), ((3, 3), None), (None,)),
            *(((2, 5), (4, 9)), ((1, 5), (2, 7), (6, 12)), ((2, 5), (3, 8), None)),
        ],
        jit_compile=[False, True],
    )
    def test_chunks_visit_what_is_wanted_and_none_weighs_too_much(
        self, sizes, jit_compile
    ):
        sizes = [size and ChunkSize(*size) for size in sizes]
        # With room for any one place each weighs something, else one.
        is_weighed = sizes[0] is not None and sizes[0].capacity >= 5

        @tf.function(autograph=False, jit_compile=jit_compile)
        def visit(wanted, weights):
            def weigh(places, capacity):
                if places is None:
                    return 0 * weights - 1
                weighed = tf.gather(weights, tf.minimum(places, 5))
                total = tf.reduce_sum(tf.where(places < 6, weighed, 0))
                # The weight of the chunk, and of which size it is.
                return tf.zeros_like(places) + total * 100 + capacity

            empty = tf.zeros([6], tf.int32)
            given = weights if is_weighed else None
            return in_chunks(weigh, wanted, sizes, empty, given)

        rng = np.random.default_rng(3)
        for bits in itertools.product([False, True], repeat=6):
            wanted, weights = np.array(bits), rng.integers(1, 6, [6])
            weights = np.where(wanted, weights if is_weighed else 1, 0).astype(np.int32)
            actual = visit(tf.constant(wanted), tf.constant(weights))
            self.assertAllEqual(actual, _chunks(wanted, weights, sizes))

    def test_no_size_is_chosen_by_a_switch(self):
        # XLA would evaluate its index, and all sums that it depends on, to compile it.
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([6], tf.bool)])
        def visit(wanted):
            sizes = [ChunkSize(1, 1), ChunkSize(2, 2), None]
            return in_chunks(
                lambda places, _: tf.range(6) if places is None else places,
                *(wanted, sizes, tf.zeros([6], tf.int32)),
            )

        graph = visit.get_concrete_function().graph.as_graph_def()
        bodies = [function.node_def for function in graph.library.function]
        kinds = {node.op for nodes in [graph.node, *bodies] for node in nodes}
        self.assertNotEmpty(kinds & {"If", "StatelessIf"})
        self.assertEmpty(kinds & {"Case", "StatelessCase"})


def _chunks(wanted, weights, sizes):
    """Each place's chunk: the weight of what fits into it, and its capacity."""
    if sizes == [None]:
        return np.full([6], -1)
    expected = np.zeros([6], np.int32)
    left = np.flatnonzero(wanted).tolist()
    while left:
        all_left = (len(left), weights[left].sum())
        fitting = (s for s in sizes if s is None or np.all(all_left <= np.array(s)))
        size = next(fitting, sizes[-1])
        if size is None:
            return np.full([6], -1)
        chunk = []
        while (
            left
            and len(chunk) < size.places
            and weights[chunk + left[:1]].sum() <= size.capacity
        ):
            chunk.append(left.pop(0))
        expected[chunk] = weights[chunk].sum() * 100 + size.capacity
    return expected
