import os
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from absl import logging
from absl.testing import parameterized

from cmlm_tf.training import trainer
from cmlm_tf.training.dev_set import DevSet
from tests.commands import run_function
from tests.training.small_run import build_training, small_config, two_devices


def train_on(folder, num_devices):
    logging.set_verbosity(logging.INFO)
    strategy = two_devices() if num_devices > 1 else tf.distribute.get_strategy()
    config = small_config(folder)
    config.model.dropout = 0.1
    config.data.row_lengths = (16, 48)
    config.training.update(jit_compile=True, steps_per_execution=2, max_steps=4)
    config.training.checkpoint_every = 4
    with (
        mock.patch.object(trainer, "make_strategy", return_value=strategy),
        mock.patch.object(DevSet, "evaluate", return_value={"token_loss": 1.0}),
    ):
        trainer.train(config, folder / "run")


class ShapeCompilationTest(tf.test.TestCase, parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path

    @parameterized.parameters((1, "one_update"), (2, "gradient_and_totals"))
    def test_every_shape_is_compiled_once(self, num_devices, program):
        # Where XLA writes its programs must be said before it begins.
        programs, log = self.folder / "programs", self.folder / "log"
        dump = f"--xla_dump_to={programs} --xla_dump_hlo_module_re=.*{program}.*"
        told = run_function(
            train_on,
            self.folder,
            num_devices,
            log=log,
            XLA_FLAGS=f"{os.environ['XLA_FLAGS']} {dump}",
        )
        self.assertIn("batches of 12 x 16 and 4 x 48", told)
        compiled = list(programs.glob(f"*{program}*before_optimizations*"))
        self.assertLen(compiled, 2 * num_devices)

    def test_it_changes_nothing_and_needs_no_memory_for_all_shapes_at_once(self):
        def run_out(progress, batch):
            def fail():
                raise MemoryError

            return tf.py_function(fail, [], tf.float32)

        config = small_config(self.folder)
        config.model.dropout = 0.1
        training = build_training(config)
        variables = training.model.variables + training.optimizer.variables
        before = [v.numpy() for v in variables]
        spec = {
            f"{side}_{kind}": tf.TensorSpec([None, None], tf.int32)
            for side in ("source", "target")
            for kind in ("ids", "segments", "positions")
        }
        spec["decoder_ids"] = spec["target_ids"]
        training.compile_shapes(spec, [(2, 4), (1, 8)])
        training._updates.one_alone = run_out
        training.compile_shapes(spec, [(2, 4), (1, 8)])
        after = [v.numpy() for v in variables]
        tf.nest.map_structure(np.testing.assert_array_equal, after, before)
