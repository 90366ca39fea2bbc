import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.training import losses

ALLOWED = np.array([0, 1, 0, 0, 1, 1, 1, 1], bool)


def smoothed(logits, labels, allowed=ALLOWED, smoothing=0.1):
    """Loss, whether the label is best, and the gradient by the logits."""
    labels = tf.constant(labels, tf.int32)
    return losses.smoothed_loss_and_gradient(
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


class SmoothedLossTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.product(smoothing=[0.0, 0.1, 0.5], scale=[0.1, 1.0, 30.0])
    def test_loss_and_gradient_equal_the_definition(self, smoothing, scale):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=[5, 8]) * scale
        labels = rng.choice(np.flatnonzero(ALLOWED), size=[5])
        loss, _, by_logits = smoothed(
            logits.astype(np.float32), labels, smoothing=smoothing
        )
        expected = oracle(logits, labels, ALLOWED, smoothing)
        self.assertAllClose(loss, expected, rtol=1e-5, atol=1e-5)
        for i in range(8):
            step = 1e-5 * np.eye(8)[i]
            up, down = (
                oracle(logits + sign * step, labels, ALLOWED, smoothing)
                for sign in (1, -1)
            )
            self.assertAllClose(by_logits[:, i], (up - down) / 2e-5, atol=1e-5)

    def test_banned_logits_count_for_nothing(self):
        logits = np.array([[1.0, 2.0, 3.0, 4.0]] * 2, np.float32)
        changed = np.array([[99.0, 2.0, 3.0, -9e9]] * 2, np.float32)
        allowed = np.array([False, True, True, False])
        loss, is_best, _ = smoothed(logits, [1, 2], allowed)
        self.assertAllClose(loss, smoothed(changed, [1, 2], allowed)[0])
        self.assertAllEqual(is_best, [False, True])

    def test_half_precision_is_computed_in_float32(self):
        logits = tf.random.stateless_normal([2, 3, 8], [1, 2], dtype=tf.bfloat16)
        labels = np.full([2, 3], 4, np.int32)
        loss, _, by_logits = smoothed(logits, labels)
        self.assertEqual((loss.dtype, by_logits.dtype), (tf.float32, tf.bfloat16))
        exact = oracle(tf.cast(logits, tf.float32).numpy(), labels, ALLOWED, 0.1)
        self.assertAllClose(loss, exact, rtol=1e-5)

    def test_perfect_model_has_the_entropy_of_the_labels(self):
        rare = 0.1 / 32000
        logits = np.full([1, 32000], math.log(rare), np.float32)
        logits[0, 7] = math.log(rare + 0.9)
        loss, _, _ = smoothed(logits, [7], np.ones(32000, bool))
        self.assertAllClose(loss, [1.36], atol=0.005)


class PackedRowsTest(tf.test.TestCase):
    def test_length_labels_and_starts(self):
        source, target = tf.constant([[1, 1, 2, 3, 3, 0]]), tf.constant([[1, 3, 3, 3]])
        positions = tf.constant([[0, 1, 0, 0, 1, 0]])
        batch = {"source_segments": source, "source_positions": positions}
        starts = losses.sentence_starts(batch)
        self.assertAllEqual(starts, [[True, False, True, True, False, False]])
        labels = losses.length_labels(source, target)
        self.assertAllEqual(labels[starts], [0, 0, 2])
