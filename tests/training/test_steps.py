"""Updates against plain gradients; many in one call against single ones."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.special_ids import MASK_ID
from cmlm_tf.training.building import build, transformer_config
from tests.training.small_run import small_config

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


class UpdateTest(tf.test.TestCase, parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    def built(self, updates_per_call, dropout):
        config = small_config(self.folder, "student")
        config.model.dropout = dropout
        config.training.steps_per_execution = updates_per_call
        sizes = transformer_config(config, SubwordModel(config.data.subword_model))
        return build(config, sizes, tf.distribute.get_strategy())

    def trained(self, updates, updates_per_call, dropout):
        """Returns what is trained, and its first weights."""
        training = self.built(updates_per_call, dropout)
        first = [weight.numpy() for weight in training.trainable_variables]
        training.fit(
            dataset(updates), steps_per_epoch=updates, shuffle=False, verbose=0
        )
        return training, first

    def test_many_updates_in_a_call_are_those_of_many_calls(self):
        (one, _), (three, _) = (self.trained(6, calls, 0.1) for calls in (1, 3))
        for trained in (one, three):
            self.assertEqual(trained.optimizer.iterations, 6)
        for left, right in zip(
            one.model.variables + one.optimizer.variables,
            three.model.variables + three.optimizer.variables,
            strict=True,
        ):
            np.testing.assert_array_equal(left, right, err_msg=left.path)
        self.assertAllClose(one.means(), three.means(), rtol=1e-5)
        self.assertEqual(one.means()["targets_per_step"], _ROWS * _LENGTH)

    def test_first_update_follows_the_plain_gradient(self):
        """Adam's first step, epsilon aside, is its rate in the gradient's direction."""
        training, first = self.trained(1, 1, dropout=0.0)
        after = [weight.numpy() for weight in training.trainable_variables]
        for weight, value in zip(training.trainable_variables, first, strict=True):
            weight.assign(value)
        batch = next(batches(1))
        with tf.GradientTape() as tape:
            sums, counts = training.sums(batch, training=True), training.counts(batch)
            loss = sums["token_loss"] / counts["masked"]
            loss += 0.1 * sums["length_loss"] / counts["sentences"]
        gradients = [
            tf.convert_to_tensor(gradient)
            for gradient in tape.gradient(loss, training.trainable_variables)
        ]
        clipped = [g / max(1.0, tf.linalg.global_norm(gradients)) for g in gradients]
        rate = float(training.optimizer._learning_rate(0))
        for old, new, gradient in zip(first, after, clipped, strict=True):
            # A gradient that is zero but for rounding has no sign.
            clear = np.abs(gradient) > 1e-6
            expected = old - rate * gradient / (np.abs(gradient) + 1e-9 / 0.02**0.5)
            np.testing.assert_allclose(
                new[clear], expected[clear], rtol=0, atol=rate / 50
            )

    def test_an_odd_rest_of_dev_batches_counts_too(self):
        training = self.built(2, dropout=0.0)
        ends = []
        note = keras.callbacks.LambdaCallback(
            on_test_batch_end=lambda batch, logs: ends.append(batch)
        )
        data = dataset(3).apply(tf.data.experimental.assert_cardinality(3))
        training.evaluate(data, callbacks=[note], verbose=0)
        whole = training.means()
        self.assertLen(ends, 2)
        expected = []
        for batch in batches(3):
            sums, counts = training.sums(batch, False), training.counts(batch)
            expected.append((sums["token_loss"], counts["masked"]))
        total, masked = np.sum(expected, axis=0)
        self.assertAllClose(whole["token_loss"], total / masked, rtol=1e-5)
