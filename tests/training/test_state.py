import keras
import numpy as np
import pytest
import tensorflow as tf

from cmlm_tf.errors import UserError
from cmlm_tf.training.state import Checkpoints, RunState


class CheckpointsTest(tf.test.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path):
        self.folder = tmp_path / "checkpoint"

    def make(self, values=(0.0, 0), identity=None, **state):
        variables = [
            keras.Variable(np.float32(values[0])),
            keras.Variable(values[1], dtype="uint32"),
        ]
        run_state = RunState(**state)
        identity = identity or {"config.seed": 1}
        checkpoints = Checkpoints(self.folder, variables, run_state, identity)
        return checkpoints, variables, run_state

    def restored(self):
        checkpoints, variables, state = self.make()
        self.assertTrue(checkpoints.restore())
        return [variable.numpy() for variable in variables], state

    def test_restores_variables_and_state(self):
        self.make((0.1, 2**32 - 1), step=12, best_score=1.5, best_step=10)[0].save()
        values, state = self.restored()
        self.assertEqual(values, [np.float32(0.1), 2**32 - 1])
        self.assertEqual(state, RunState(step=12, best_score=1.5, best_step=10))

    def test_keeps_the_two_newest_and_nothing_that_a_killed_save_left_behind(self):
        checkpoints, _, state = self.make()
        self.assertFalse(checkpoints.restore())
        self.folder.mkdir()
        (self.folder / ".step_000000005.abcd1234.npz").write_bytes(b"half")
        for state.step in (5, 10, 999_999_999, 1_000_000_000):
            checkpoints.save()
        self.assertEqual(
            {path.name for path in self.folder.iterdir()},
            {"step_999999999.npz", "step_1000000000.npz"},
        )
        self.assertEqual(self.restored()[1].step, 1_000_000_000)

    def test_a_damaged_checkpoint_is_passed_over(self):
        checkpoints, variables, state = self.make((1.0, 0))
        for state.step in (1, 2):
            checkpoints.save()
            variables[0].assign(2.0)
        newest = self.folder / "step_000000002.npz"
        whole = newest.read_bytes()
        flipped = bytearray(whole)
        flipped[whole.index(np.float32(2.0).tobytes())] ^= 1
        for damaged in (whole[:-30], whole[:9], b"", bytes(flipped)):
            newest.write_bytes(damaged)
            values, restored = self.restored()
            self.assertEqual((values[0], restored.step), (1.0, 1))
        (self.folder / "step_000000001.npz").write_bytes(b"")
        with self.assertRaisesRegex(UserError, "no checkpoint can be read"):
            self.make()[0].restore()

    def test_other_identity_is_named(self):
        self.make()[0].save()
        for identity, message in (
            ({"config.seed": 2}, "config.seed was 1 .* is 2 now"),
            ({"config.seed": 1, "config.new": 3}, "config.new was None .* is 3"),
        ):
            with self.assertRaisesRegex(UserError, message):
                self.make(identity=identity)[0].restore()

    def test_weight_that_is_not_finite_is_not_saved(self):
        with self.assertRaisesRegex(UserError, "not finite at step 1$"):
            self.make((np.nan, 0), step=1)[0].save()
        self.make((1.0, 0), step=1)[0].save()
        for value in (np.nan, np.inf):
            with self.assertRaisesRegex(UserError, "not finite at step 2; .* is kept"):
                self.make((value, 0), step=2)[0].save()
        self.assertEqual(self.restored()[1].step, 1)

    def test_folder_that_cannot_be_written(self):
        self.folder.parent.joinpath("checkpoint").write_text("a file")
        with self.assertRaisesRegex(UserError, "checkpoint"):
            self.make()[0].save()
