import os
import signal
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from absl.testing import parameterized

from cmlm_tf.data.subwords import train_subword_model
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.initialization import named_weights
from cmlm_tf.modeling.model_dir import load_model
from cmlm_tf.training.dev_set import DevSet
from cmlm_tf.training.objectives import TeacherObjective
from cmlm_tf.training.trainer import train
from cmlm_tf.training.training_model import TrainingModel
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import BeamOptions
from tests.training.small_run import (
    copy_finished_run,
    small_config,
    write_corpus,
    write_model,
    write_teacher,
)


def newest_checkpoint(folder):
    with np.load(max((folder / "checkpoint").glob("*.npz"))) as file:
        return {name: file[name] for name in file.files if name != "meta"}


def best_weights(folder):
    model = load_model(folder / "model").model
    return {name: weight.numpy() for name, weight in named_weights(model)}


class TrainTest(parameterized.TestCase):
    @pytest.fixture(autouse=True)
    def _setup(self, tmp_path, monkeypatch):
        self.folder, self.monkeypatch = tmp_path, monkeypatch

    def run_stopped(self, config, output, step, with_signal=signal.SIGINT):
        """Starts a run that gets a signal when it has done a step."""
        update = TrainingModel.update

        def update_and_stop(training, batches):
            update(training, batches)
            if training.optimizer.step == step:
                os.kill(os.getpid(), with_signal)

        with self.monkeypatch.context() as patch:
            patch.setattr(TrainingModel, "update", update_and_stop)
            with self.assertRaises(KeyboardInterrupt):
                train(config, output)

    def leave_out_evaluation(self):
        """Saves its graphs; the weights that it comes to first count as the best."""
        self.monkeypatch.setattr(
            DevSet, "evaluate", lambda *unused: {"token_loss": 1.0}
        )

    def assert_same_run(self, one, other):
        for read in (newest_checkpoint, best_weights):
            tf.nest.map_structure(np.testing.assert_array_equal, read(one), read(other))

    def test_a_stopped_teacher_ends_as_one_that_was_not(self):
        config, whole = copy_finished_run(self.folder)
        stopped = self.folder / "stopped"
        # Step 4 is also due for evaluation, which the signal prevents.
        self.run_stopped(config, stopped, 4)
        self.run_stopped(config, stopped, 5, signal.SIGTERM)
        train(config, stopped)
        self.assert_same_run(whole, stopped)

    def test_a_stopped_student_ends_as_one_that_was_not(self):
        write_teacher(self.folder)
        config = small_config(self.folder, "student")
        config.training.update(steps_per_execution=2, checkpoint_every=4)
        whole, stopped = self.folder / "whole", self.folder / "stopped"
        train(config, whole)
        self.run_stopped(config, stopped, 6)
        train(config, stopped)
        self.assert_same_run(whole, stopped)

    def test_teacher_learns_twenty_sentences_by_heart(self):
        config = small_config(self.folder)
        config.model.update(model_dim=32, feed_forward_dim=64, dropout=0.0)
        config.training.update(
            max_steps=300, warmup_steps=60, log_every=100, checkpoint_every=300
        )
        config.training.update(learning_rate_scale=1.0, ema_decay=0.9)
        config.data.dev = config.data.train
        config.evaluation.update(every=300, bleu_sentences=20, select_by="bleu")
        translator = load_translator(train(config, self.folder / "run"))
        source, target = map(Path, config.data.train.removeprefix("files:").split(","))
        results = translator.translate(
            source.read_text().splitlines(), BeamOptions(beam_size=1)
        )
        self.assertEqual(
            [result.text for result in results], target.read_text().splitlines()
        )

    def test_patience_ends_the_run(self):
        config = small_config(self.folder)
        config.training.update(max_steps=40, learning_rate_scale=1e-9)
        config.evaluation.update(every=2, patience=2)
        losses = iter([5.0, 3.0, 4.0, 3.5])
        self.monkeypatch.setattr(
            DevSet, "evaluate", lambda *unused: {"token_loss": next(losses)}
        )
        output = self.folder / "run"
        train(config, output)
        self.assertTrue((output / "checkpoint/step_000000008.npz").exists())
        train(config, output)  # Does nothing: there are no more losses.

    def test_loss_that_is_not_finite_names_the_steps(self):
        config = small_config(self.folder)
        config.evaluation.every = 8
        original, update = TeacherObjective.sums, TrainingModel.update
        factor = tf.Variable(1.0)

        def broken_sums(objective, model, batch, training):
            sums = original(objective, model, batch, training)
            return sums | {"token_loss": factor * sums["token_loss"]}

        def update_and_break(training, batches):
            factor.assign(1.0 if training.optimizer.step < 5 else float("nan"))
            update(training, batches)

        self.monkeypatch.setattr(TeacherObjective, "sums", broken_sums)
        self.monkeypatch.setattr(TrainingModel, "update", update_and_break)
        with self.assertRaisesRegex(UserError, "not finite.*steps 5 and 6"):
            train(config, self.folder / "run")
        for array in newest_checkpoint(self.folder / "run").values():
            self.assertTrue(np.isfinite(array).all())

    def test_a_folder_belongs_to_one_config_and_corpus(self):
        config, output = copy_finished_run(self.folder)
        corpus = write_corpus(self.folder, 20, seed=3)
        for field, value, message in (
            ("seed", 2, "config.seed was 1 .* 2 now"),
            ("model.num_decoder_layers", 2, "config.model.num_decoder_layers"),
            ("data.train", corpus, "fingerprint of config.data.train"),
        ):
            other = config.copy_and_resolve_references()
            other.update_from_flattened_dict({field: value})
            with self.assertRaisesRegex(UserError, message):
                train(other, output)
        config.training.update(max_steps=9)
        train(config, output)
        self.assertTrue((output / "checkpoint/step_000000009.npz").exists())

    def test_a_run_whose_best_model_is_gone_does_not_go_on(self):
        config, output = copy_finished_run(self.folder)
        (output / "model").rename(self.folder / "elsewhere")
        message = "run/model/config.json: No such.*; bring back .*run/checkpoint"
        for config.training.max_steps in (8, 10):
            with self.assertRaisesRegex(UserError, message):
                train(config, output)
        names = {path.name for path in (output / "checkpoint").iterdir()}
        self.assertEqual(names, {"step_000000006.npz", "step_000000008.npz"})
        (self.folder / "elsewhere").rename(output / "model")
        train(config, output)

    def test_a_cooldown_fixes_the_last_step(self):
        self.leave_out_evaluation()
        config = small_config(self.folder)
        config.training.update(max_steps=2, cooldown_steps=1)
        train(config, self.folder / "run")
        config.training.update(max_steps=3)
        with self.assertRaisesRegex(UserError, "max_steps was 2 .* 3 now"):
            train(config, self.folder / "run")

    @parameterized.parameters(
        ("data.train", "files:{0}/no.en,{0}/no.de", "no.en: No such file"),
        ("data.subword_model", "{}/other.model", "vocabulary .*other.model.*/teacher "),
        ("model.num_heads", 4, "model.num_heads is 4 here, 2 in the"),
        ("training.initial_dir", "{}/teacher", "teacher: not a student but a teacher"),
    )
    def test_a_fault_is_found_before_anything_is_written(self, field, value, message):
        write_teacher(self.folder)
        train_subword_model(["abc", "de"] * 20, self.folder / "other.model", 288)
        config = small_config(self.folder, "student")
        value = value.format(self.folder) if isinstance(value, str) else value
        config.update_from_flattened_dict({field: value})
        with self.assertRaisesRegex(UserError, message):
            train(config, self.folder / "student")
        self.assertEqual(list((self.folder / "student").iterdir()), [])

    @parameterized.parameters("teacher", "student")
    def test_training_goes_on_from_a_trained_model(self, role):
        self.leave_out_evaluation()
        for each in {"teacher", role}:
            write_model(self.folder, each)
        config = small_config(self.folder, role)
        first = self.folder / role
        # With a rate of next to nothing, what comes out is what went in.
        config.training.update(initial_dir=str(first), learning_rate_scale=1e-12)
        config.training.max_steps = 2
        second = train(config, self.folder / "second")
        before, after = (load_model(path).model.weights for path in (first, second))
        for old, new in zip(before, after, strict=True):
            np.testing.assert_allclose(old, new, atol=1e-6)
        config.training.initial_dir = ""
        with self.assertRaisesRegex(UserError, "initial_dir|to start from"):
            train(config, self.folder / "second")

    def test_a_vocabulary_that_is_replaced_does_not_enter_the_model(self):
        self.leave_out_evaluation()
        config = small_config(self.folder)
        config.training.max_steps = 2
        path = Path(config.data.subword_model)
        content = path.read_bytes()
        update = TrainingModel.update

        def update_and_replace(training, batches):
            update(training, batches)
            path.write_bytes(b"another")

        self.monkeypatch.setattr(TrainingModel, "update", update_and_replace)
        model_dir = train(config, self.folder / "run")
        self.assertEqual((model_dir / "subword.model").read_bytes(), content)

    def test_a_training_does_not_overwrite_what_it_starts_from(self):
        write_teacher(self.folder)
        run = self.folder / "run"
        run.mkdir()
        (self.folder / "teacher").rename(run / "model")
        (self.folder / "link").symlink_to(run)
        before = (run / "model" / "config.json").read_bytes()
        for role, field in (
            ("student", "student.teacher_dir"),
            ("teacher", "training.initial_dir"),
        ):
            config = small_config(self.folder, role)
            config.update_from_flattened_dict({field: str(run / "model")})
            with self.assertRaisesRegex(UserError, f"config.{field}: .* overwrite"):
                train(config, self.folder / "link")
        self.assertEqual((run / "model" / "config.json").read_bytes(), before)

    def test_logs_that_do_not_fit_the_disk(self):
        config = small_config(self.folder)
        full = tf.errors.ResourceExhaustedError(None, None, "No space left on device")
        for error, expected in (
            (full, "run: No space left on device"),
            (tf.errors.ResourceExhaustedError(None, None, "OOM"), "OOM"),
        ):
            kind = UserError if error is full else tf.errors.ResourceExhaustedError
            with (
                mock.patch.object(tf.summary, "create_file_writer", side_effect=error),
                self.assertRaisesRegex(kind, expected),
            ):
                train(config, self.folder / "run")
