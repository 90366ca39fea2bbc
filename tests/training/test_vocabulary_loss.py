import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.training.vocabulary_loss import vocabulary_loss

VOCAB, DIM = 11, 6
ALLOWED = tf.constant([False] + [True] * (VOCAB - 1))


def random_case(rows, length, share, seed=0):
    rng = np.random.default_rng(seed)
    return (
        tf.constant(rng.normal(size=[rows, length, DIM]), tf.float32),
        tf.constant(rng.normal(size=[VOCAB, DIM]), tf.float32),
        tf.constant(rng.integers(1, VOCAB, [rows, length]), tf.int32),
        tf.constant(rng.random([rows, length]) < share),
    )


def whole(states, table, labels, wanted):
    """The same with TensorFlow's loss of the whole batch."""
    logits = tf.matmul(states, table, transpose_b=True)[wanted][:, 1:]
    labels = labels[wanted] - 1
    smoothed = 0.9 * tf.one_hot(labels, VOCAB - 1) + 0.1 / (VOCAB - 1)
    losses = tf.nn.softmax_cross_entropy_with_logits(smoothed, logits)
    correct = tf.argmax(logits, -1, tf.int32) == labels
    return (
        tf.reduce_sum(losses),
        tf.math.count_nonzero(correct, dtype=tf.float32),
    )


def in_chunks(states, table, labels, wanted):
    return vocabulary_loss(states, table, labels, wanted, ALLOWED, 0.1)


def with_gradients(function, states, table, labels, wanted):
    with tf.GradientTape() as tape:
        tape.watch([states, table])
        loss, correct = function(states, table, labels, wanted)
        scaled = 0.3 * loss
    return loss, correct, *tape.gradient(scaled, [states, table])


class VocabularyLossTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(
        shape=[(1, 1), (3, 50), (41, 64)],
        share=[0.0, 0.02, 1.0],
        form=["eager", "graph", "xla"],
    )
    def test_equals_the_loss_of_the_whole_batch(self, shape, share, form):
        case = random_case(*shape, share)

        def run():
            return with_gradients(in_chunks, *case)

        if form != "eager":
            run = tf.function(run, jit_compile=form == "xla", autograph=False)
        expected = with_gradients(whole, *case)
        for actual, value in zip(run(), expected, strict=True):
            self.assertAllClose(actual, value, rtol=1e-4, atol=1e-4)

    def test_unwanted_positions_may_hold_anything(self):
        states, table, labels, wanted = random_case(4, 90, 0.4)
        states = tf.where(wanted[..., None], states, float("nan"))
        labels = tf.where(wanted, labels, 0)
        results = with_gradients(in_chunks, states, table, labels, wanted)
        for result in results:
            self.assertAllEqual(tf.math.is_finite(result), tf.ones_like(result, bool))
        self.assertAllEqual(results[2][~wanted], tf.zeros_like(results[2][~wanted]))

    def test_half_precision_sums_the_tables_gradient_in_float32(self):
        states, table, labels, wanted = random_case(30, 100, 1.0)
        half = tf.cast(states, tf.bfloat16)
        expected = with_gradients(
            whole, tf.cast(half, tf.float32), table, labels, wanted
        )
        actual = with_gradients(in_chunks, half, table, labels, wanted)
        self.assertEqual([x.dtype for x in actual[2:]], [tf.bfloat16, tf.float32])
        self.assertAllClose(actual[0], expected[0], rtol=1e-2)
        self.assertAllClose(actual[3], expected[3], rtol=2e-2, atol=0.3)
