import os
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.errors import UserError
from cmlm_tf.training import trainer
from cmlm_tf.training.distribution import make_strategy, worker_index
from tests.commands import run_function
from tests.training.small_run import (
    build_training,
    small_config,
    two_devices,
    write_teacher,
)
from tests.training.test_updates import batches, train


def train_on_one_and_on_two(folder):
    strategies = {"two": two_devices(), "one": tf.distribute.get_strategy()}
    write_teacher(folder)
    trainer.make_strategy = strategies.get
    for name in strategies:
        config = small_config(folder, "student")
        config.model.dropout = 0.0
        config.training.update(max_steps=4, warmup_steps=100, clip_norm=0.1)
        config.training.update(steps_per_execution=2, checkpoint_every=4)
        config.evaluation.every = 4
        trainer.train(config, folder / name, name)


def check_places(folder):
    """Every replica's progress comes from, and stays on, its own device."""
    strategy = two_devices()
    config = small_config(folder, "student")
    config.training.steps_per_execution = 3
    training = build_training(config, strategy)
    batch = dict.fromkeys(next(batches(1)), tf.zeros([4, 8], tf.int32))
    data = tf.data.Dataset.from_tensors(batch)
    iterator = iter(training.distributed(data))
    with strategy.scope():
        graph = training._call.get_concrete_function(iterator).graph
        one = tf.nest.flatten(strategy.run(training._updates.read))
    definition = graph.as_graph_def()
    (loop,) = [
        node for node in definition.node if node.op in ("While", "StatelessWhile")
    ]
    functions = {each.signature.name: each for each in definition.library.function}
    body = functions[loop.attr["body"].func.name]
    inside = {node.name: node.device for node in body.node_def}
    outside = {node.name: node.device for node in definition.node}
    handed_on = [inside.get(value.split(":")[0]) for value in body.ret.values()]
    taken = [outside.get(name.split(":")[0]) for name in loop.input]
    for places in (handed_on, taken):
        for number in range(2):
            found = [place for place in places if f"CPU:{number}" in (place or "")]
            assert len(found) >= len(one), (number, places)


def checkpoint(folder):
    with np.load(folder / "checkpoint/step_000000004.npz") as file:
        return [file[str(index)] for index in range(len(file.files) - 1)]


def train_with_an_idle_replica(folder):
    """A batch of one row: the second replica has none."""
    strategies = two_devices(), tf.distribute.get_strategy()
    config = small_config(folder)
    config.model.dropout = 0.0
    ones = dict.fromkeys(next(batches(1)), tf.ones([1, 8], tf.int32))
    results = []
    for strategy in strategies:
        training = build_training(config, strategy)
        data = tf.data.Dataset.from_tensors(ones).repeat()
        train(training, data, 2)
        results.append((training.measured(), training.evaluate(data.take(2))))
    for found, expected in zip(*results, strict=True):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, err_msg=name)


class TwoDevicesTest(tf.test.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    def test_what_a_loop_hands_on_stays_on_its_device(self):
        run_function(check_places, self.folder, log=self.folder / "log")

    def test_a_replica_without_rows_changes_nothing(self):
        run_function(train_with_an_idle_replica, self.folder, log=self.folder / "log")

    def test_global_batch_gives_the_same_weights_on_two_devices_as_on_one(self):
        run_function(train_on_one_and_on_two, self.folder, log=self.folder / "log")
        one, two = (checkpoint(self.folder / name) for name in ("one", "two"))
        self.assertEqual(len(one), len(two))
        for left, right in zip(one, two, strict=True):
            # Some gradients are zero but for rounding, which Adam magnifies.
            largest = np.abs(left).max()
            np.testing.assert_allclose(left, right, rtol=0, atol=0.05 * largest)


class MakeStrategyTest(tf.test.TestCase, parameterized.TestCase):
    def test_one_device(self):
        strategy = make_strategy("one_device")
        self.assertEqual(strategy.num_replicas_in_sync, 1)
        self.assertEqual(worker_index(strategy), 0)

    def test_unknown_name(self):
        with self.assertRaisesRegex(UserError, "distribute must be one of one_device"):
            make_strategy("two_devices")

    @parameterized.parameters(
        "",
        '{"cluster": ',
        '{"cluster": {"worker": ["a:1", "b:1"]}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "0"}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}',
        '["a:1"]',
        '{"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": [1]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0.0}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": false}}',
    )
    def test_a_variable_that_is_no_cluster(self, text):
        with (
            mock.patch.dict(os.environ, TF_CONFIG=text),
            self.assertRaisesRegex(UserError, "TF_CONFIG must be like .*, "),
        ):
            make_strategy("multi_worker")
