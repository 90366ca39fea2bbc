import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from cmlm_tf.errors import UserError
from cmlm_tf.training.distribution import make_strategy, worker_index

# Virtual devices must be made before TensorFlow starts, hence a new process.
_TRAIN_ON_ONE_AND_ON_TWO = """
import pathlib, sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)

from cmlm_tf.training import trainer
from tests.training.small_run import small_config, write_teacher

folder = pathlib.Path(sys.argv[1])
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
"""


def checkpoint(folder):
    with np.load(folder / "checkpoint/step_000000004.npz") as file:
        return [file[str(index)] for index in range(len(file.files) - 1)]


class TwoDevicesTest(tf.test.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    def test_global_batch_gives_the_same_weights_on_two_devices_as_on_one(self):
        command = [sys.executable, "-c", _TRAIN_ON_ONE_AND_ON_TWO, self.folder]
        root = Path(__file__).parents[2]
        environment = os.environ | {"PYTHONPATH": str(root)}
        subprocess.run(command, check=True, cwd=root, env=environment)
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
