"""Updates against plain gradients; many in one call against single ones."""

import numpy as np
import pytest
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.special_ids import MASK_ID
from tests.training.small_run import build_training, small_config

_ROWS, _LENGTH = 3, 8


def batches(count):
    """Batches of two sentences a row, half of the targets masked."""
    rng = np.random.default_rng(0)
    half = _LENGTH // 2
    segments = np.repeat([[1] * half + [2] * half], _ROWS, axis=0)
    positions = np.repeat([[*range(half)] * 2], _ROWS, axis=0)
    for _ in range(count):
        ids = rng.integers(260, 270, [2, _ROWS, _LENGTH])
        masked = rng.random(ids[1].shape) < 0.5
        batch = {
            "source_ids": ids[0],
            "target_ids": ids[1],
            "decoder_ids": np.where(masked, MASK_ID, ids[1]),
        }
        for side in ("source", "target"):
            batch |= {f"{side}_segments": segments, f"{side}_positions": positions}
        yield {name: tf.constant(value, tf.int32) for name, value in batch.items()}


def dataset(count):
    spec = tf.nest.map_structure(tf.TensorSpec.from_tensor, next(batches(1)))
    return tf.data.Dataset.from_generator(lambda: batches(count), output_signature=spec)


def train(training, data, calls):
    iterator = iter(training.distributed(data))
    for _ in range(calls):
        training.update(iterator)


class UpdateTest(tf.test.TestCase, parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    def trained(self, updates, updates_per_call, dropout):
        """Returns what is trained, and its first weights."""
        config = small_config(self.folder, "student")
        config.model.dropout = dropout
        config.training.steps_per_execution = updates_per_call
        training = build_training(config)
        first = [weight.numpy() for weight in training.model.trainable_variables]
        train(training, dataset(updates), updates // updates_per_call)
        return training, first

    def test_many_updates_in_a_call_are_those_of_many_calls(self):
        (one, _), (three, _) = (self.trained(6, calls, 0.1) for calls in (1, 3))
        for trained in (one, three):
            self.assertEqual(trained.optimizer.step, 6)
        for left, right in zip(
            one.model.variables + one.optimizer.variables,
            three.model.variables + three.optimizer.variables,
            strict=True,
        ):
            np.testing.assert_array_equal(left, right, err_msg=left.path)
        self.assertAllClose(one.measured(), three.measured(), rtol=1e-5)
        self.assertEqual(one.measured()["targets"], 6 * _ROWS * _LENGTH)

    def test_first_update_follows_the_plain_gradient(self):
        """Adam's first step, epsilon aside, is its rate in the gradient's direction."""
        training, first = self.trained(1, 1, dropout=0.0)
        weights = training.model.trainable_variables
        after = [weight.numpy() for weight in weights]
        for weight, value in zip(weights, first, strict=True):
            weight.assign(value)
        batch = next(batches(1))
        with tf.GradientTape() as tape:
            sums = training.objective.sums(training.model, batch, training=True)
            counts = training.objective.counts(batch)
            loss = sums["token_loss"] / counts["masked"]
            loss += 0.1 * sums["length_loss"] / counts["sentences"]
        gradients = [
            tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, weights)
        ]
        clipped = [g / max(1.0, tf.linalg.global_norm(gradients)) for g in gradients]
        rate = float(training.optimizer._schedule(0))
        for old, new, gradient in zip(first, after, clipped, strict=True):
            # A gradient that is zero but for rounding has no sign.
            clear = np.abs(gradient) > 1e-6
            expected = old - rate * gradient / (np.abs(gradient) + 1e-9 / 0.02**0.5)
            np.testing.assert_allclose(
                new[clear], expected[clear], rtol=0, atol=rate / 50
            )

    def test_an_evaluation_is_over_all_batches_and_leaves_what_was_measured(self):
        training, _ = self.trained(2, 2, dropout=0.0)
        before, begun = training.measured(), []
        found = training.evaluate(dataset(3), lambda: begun.append(1))
        self.assertLen(begun, 3)
        self.assertEqual(training.measured(), before)
        expected = []
        for batch in batches(3):
            sums = training.objective.sums(training.model, batch, False)
            counts = training.objective.counts(batch)
            expected.append((sums["token_loss"], counts["masked"], counts["targets"]))
        total, masked, targets = np.sum(expected, axis=0)
        self.assertAllClose(found["token_loss"], total / masked, rtol=1e-5)
        self.assertEqual(found["targets"], targets)
        training.reset()
        self.assertEqual(set(training.measured().values()), {0.0})
