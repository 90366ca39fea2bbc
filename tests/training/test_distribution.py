import os

import numpy as np
import pytest
import tensorflow as tf

from cmlm_tf.errors import UserError
from cmlm_tf.training import trainer
from cmlm_tf.training.distribution import make_strategy, worker_index
from tests.commands import start_process
from tests.training.small_run import small_config, write_teacher


def train_on_one_and_on_two(folder):
    """Makes virtual devices, which TensorFlow allows before it has begun."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    write_teacher(folder)
    strategies = {
        "one": tf.distribute.get_strategy(),
        "two": tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]),
    }
    assert strategies["two"].num_replicas_in_sync == 2
    trainer.make_strategy = strategies.get
    for name in strategies:
        config = small_config(folder, "student")
        config.model.dropout = 0.0
        config.training.update(max_steps=4, warmup_steps=100, clip_norm=0.1)
        config.training.update(steps_per_execution=2, checkpoint_every=4)
        config.evaluation.every = 4
        trainer.train(config, folder / name, name)


def checkpoint(folder):
    with np.load(folder / "checkpoint/step_000000004.npz") as file:
        return [file[str(index)] for index in range(len(file.files) - 1)]


class TwoDevicesTest(tf.test.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    def test_global_batch_gives_the_same_weights_on_two_devices_as_on_one(self):
        log = self.folder / "log"
        streams = [os.devnull, os.devnull, log]
        process = start_process(train_on_one_and_on_two, self.folder, streams=streams)
        process.join()
        self.assertEqual(process.exitcode, 0, log.read_text())
        one, two = (checkpoint(self.folder / name) for name in ("one", "two"))
        self.assertEqual(len(one), len(two))
        for left, right in zip(one, two, strict=True):
            # Some gradients are zero but for rounding, which Adam magnifies.
            largest = np.abs(left).max()
            np.testing.assert_allclose(left, right, rtol=0, atol=0.05 * largest)


class MakeStrategyTest(tf.test.TestCase):
    def test_one_device(self):
        strategy = make_strategy("one_device")
        self.assertEqual(strategy.num_replicas_in_sync, 1)
        self.assertEqual(worker_index(strategy), 0)

    def test_unknown_name(self):
        with self.assertRaisesRegex(UserError, "distribute must be one of one_device"):
            make_strategy("two_devices")
