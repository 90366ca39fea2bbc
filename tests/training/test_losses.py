import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.training import losses

ALLOWED = np.array([0, 1, 0, 0, 1, 1, 1, 1], bool)


def smoothed(logits, labels, allowed, smoothing=0.1):
    labels = tf.constant(labels, tf.int32)
    return losses.smoothed_cross_entropy(
        tf.convert_to_tensor(logits), labels, tf.constant(allowed), smoothing
    )


def oracle(logits, labels, allowed, smoothing):
    """The label distribution against the softmax, position by position."""
    result = np.zeros(labels.shape)
    ids = np.flatnonzero(allowed)
    for index, label in np.ndenumerate(labels):
        scores = logits[index].astype(np.float64)
        total = sum(math.exp(scores[i]) for i in ids)
        for i in ids:
            share = smoothing / len(ids) + (1 - smoothing) * (i == label)
            result[index] -= share * (scores[i] - math.log(total))
    return result


class SmoothedCrossEntropyTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(smoothing=[0.0, 0.1, 0.5], scale=[0.1, 30.0])
    def test_equals_the_definition(self, smoothing, scale):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=[3, 4, 8]).astype(np.float32) * scale
        labels = rng.choice(np.flatnonzero(ALLOWED), size=[3, 4])
        actual = smoothed(logits, labels, ALLOWED, smoothing)
        expected = oracle(logits, labels, ALLOWED, smoothing)
        self.assertAllClose(actual, expected, rtol=1e-5, atol=1e-5)

    @parameterized.parameters(0.0, 0.1)
    def test_gradient_equals_differences(self, smoothing):
        rng = np.random.default_rng(1)
        logits = rng.normal(size=[5, 8])
        labels = rng.choice(np.flatnonzero(ALLOWED), size=[5])
        upstream = rng.normal(size=[5])
        variable = tf.Variable(logits, dtype=tf.float32)
        with tf.GradientTape() as tape:
            loss = smoothed(variable, labels, ALLOWED, smoothing)
            total = tf.reduce_sum(loss * upstream.astype(np.float32))
        expected = np.zeros_like(logits)
        for index in np.ndindex(logits.shape):
            step = np.zeros_like(logits)
            step[index] = 1e-5
            up, down = (
                oracle(logits + sign * step, labels, ALLOWED, smoothing) @ upstream
                for sign in (1, -1)
            )
            expected[index] = (up - down) / 2e-5
        self.assertAllClose(tape.gradient(total, variable), expected, atol=1e-5)

    def test_banned_logits_count_for_nothing(self):
        logits = np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)
        changed = np.array([[99.0, 2.0, 3.0, -9e9]], np.float32)
        allowed = np.array([False, True, True, False])
        loss, same = (smoothed(x, np.array([1]), allowed) for x in (logits, changed))
        self.assertAllClose(loss, same)

    def test_padding_label_is_finite(self):
        logits = np.zeros([1, 8], np.float32)
        loss = smoothed(logits, np.array([0]), ALLOWED)
        self.assertAllEqual(tf.math.is_finite(loss), [True])

    def test_half_precision_is_computed_in_float32(self):
        logits = tf.random.stateless_normal([2, 3, 8], [1, 2], dtype=tf.bfloat16)
        labels = np.full([2, 3], 4, np.int32)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = smoothed(logits, labels, ALLOWED)
        self.assertEqual(loss.dtype, tf.float32)
        self.assertEqual(tape.gradient(loss, logits).dtype, tf.bfloat16)
        exact = oracle(tf.cast(logits, tf.float32).numpy(), labels, ALLOWED, 0.1)
        self.assertAllClose(loss, exact, rtol=1e-5)

    def test_perfect_model_has_the_entropy_of_the_labels(self):
        vocab_size, smoothing = 32000, 0.1
        rare = smoothing / vocab_size
        logits = np.full([1, vocab_size], math.log(rare), np.float32)
        logits[0, 7] = math.log(rare + 1 - smoothing)
        loss = smoothed(logits, np.array([7]), np.ones(vocab_size, bool), smoothing)
        self.assertAllClose(loss, [1.36], atol=0.005)


class PackedRowsTest(tf.test.TestCase):
    def test_length_labels_and_starts(self):
        rng = np.random.default_rng(2)
        for _ in range(50):
            sources, targets = rng.integers(1, 5, size=[2, 3])
            segments = [np.repeat([1, 2, 3], n) for n in (sources, targets)]
            source, target = (np.pad(s, (0, 16 - len(s))) for s in segments)
            positions = np.concatenate([np.arange(n) for n in sources])
            positions = np.pad(positions, (0, 16 - len(positions)))
            source, target, positions = (
                tf.constant(x[None], tf.int32) for x in (source, target, positions)
            )
            labels = losses.length_labels(source, target).numpy()[0]
            batch = {"source_segments": source, "source_positions": positions}
            starts = losses.sentence_starts(batch).numpy()[0]
            self.assertAllEqual(
                np.flatnonzero(starts), np.cumsum(sources) - np.array(sources)
            )
            self.assertAllEqual(labels[starts], targets - 1)

    def test_is_best_ignores_banned_classes(self):
        logits = tf.constant([[9.0, 1.0, 2.0], [9.0, 3.0, 2.0]])
        allowed = tf.constant([False, True, True])
        best = losses.is_best(logits, tf.constant([2, 2]), allowed)
        self.assertAllEqual(best, [True, False])
