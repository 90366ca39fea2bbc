"""Trains a teacher or a student, from a config to a model directory."""

import functools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.data.batching import TrainingBatches, dev_batches
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.prepared import PreparedCorpus, prepare_corpus
from cmlm_tf.data.sentence_store import remove_unfinished
from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel, read_description, save_model
from cmlm_tf.training import callbacks
from cmlm_tf.training.building import (
    build,
    check_start,
    initialize,
    start_of,
    transformer_config,
)
from cmlm_tf.training.compilation import ShapeCompilation
from cmlm_tf.training.config import FREE_FIELDS, flat_fields, validate_config
from cmlm_tf.training.dev_set import DevSet, TranslateFn, decoding_options
from cmlm_tf.training.distribution import (
    lost_workers_named,
    make_strategy,
    worker_index,
)
from cmlm_tf.training.inputs import DEV_SEED, with_decoder_inputs
from cmlm_tf.training.matrix_rate import MatrixRate
from cmlm_tf.training.run_folder import (
    check_best_model,
    exclusive_folder,
    full_disk_named,
)
from cmlm_tf.training.state import Checkpoints, RunState
from cmlm_tf.training.steps import TrainingModel
from cmlm_tf.translate.loading import make_translator
from cmlm_tf.utils.files import remove_leftovers

#: Fields that say where something lies; what lies there counts, not its name.
_PLACES = frozenset(
    {
        "data.train",
        "data.dev",
        "data.subword_model",
        "student.teacher_dir",
        "training.initial_dir",
    }
)

#: A mean loss this many times that of a uniform guess has run away.
_RUNAWAY = 3.0


def train(
    config: ml_collections.ConfigDict,
    output_dir: str | Path,
    distribution: str = "one_device",
) -> Path:
    """Trains a model, or goes on with a run that was stopped.

    `output_dir` gets the prepared corpora, checkpoints, TensorBoard logs and
    `model`, the model directory with the best averaged weights so far.

    Args:
        config: as the files in configs/ return it.
        output_dir: of this run alone.
        distribution: as for `make_strategy`.

    Returns:
        The model directory.

    Raises:
        UserError: a fault in config, files or data; a run of another config, or
            one whose model is gone, in `output_dir`; a loss that is not finite
            or has run away.
        KeyboardInterrupt: after Ctrl-C or SIGTERM, when a checkpoint is saved.
    """
    validate_config(config)
    strategy = make_strategy(distribution)
    worker = worker_index(strategy)
    folder = Path(output_dir)
    with exclusive_folder(folder / f"worker_{worker}" if worker else folder):
        run = _Run(config, folder, strategy, worker)
        with full_disk_named(folder), lost_workers_named(strategy):
            return run.train()


def _is_same(folder: str | Path, other: str | Path) -> bool:
    return os.path.realpath(folder) == os.path.realpath(other)


class _Run:
    """One run. Faults that are cheap to find are found when it is made."""

    def __init__(
        self,
        config: ml_collections.ConfigDict,
        folder: Path,
        strategy: tf.distribute.Strategy,
        worker: int,
    ):
        self.config, self.folder, self.strategy = config, folder, strategy
        self.worker, self.model_dir = worker, folder / "model"
        self.state, self.interrupts = RunState(), callbacks.Interrupts()
        self.subwords = SubwordModel(config.data.subword_model)
        self.sizes = transformer_config(config, self.subwords)
        self.decoding_options = decoding_options(config)
        self.start = start_of(config)
        if self.start:
            if _is_same(self.start.model_dir, self.model_dir):
                raise UserError(
                    f"config.{self.start.field}: training would overwrite "
                    f"{self.start.model_dir}; use another output folder"
                )
            check_start(
                self.start, config.data.subword_model, self.subwords, self.sizes
            )
        self.dev_corpus = open_corpus(config.data.dev)
        train_corpus = open_corpus(config.data.train)
        self.dev_data = self._prepare(self.dev_corpus)
        self.train_data = self._prepare(train_corpus)

    def _prepare(self, corpus) -> PreparedCorpus:
        folder = self.folder / (f"data_{self.worker}" if self.worker else "data")
        remove_unfinished(folder)
        return prepare_corpus(
            corpus,
            self.subwords,
            folder,
            max_length=self.config.model.max_length,
            max_length_ratio=self.config.data.max_length_ratio,
        )

    def train(self) -> Path:
        """Trains to the end of the run; returns the model directory."""
        training = build(self.config, self.sizes, self.strategy)
        checkpoints = self._checkpoints(training)
        if checkpoints.restore():
            if self.state.best_step:
                check_best_model(self.folder)
            logging.info("going on after step %d", self.state.step)
        elif self.start:
            initialize(training, self.start)
        if self.state.step < self.config.training.max_steps and not self.state.stopped:
            self._fit(training, checkpoints)
        logging.info(
            "trained %d steps; the weights of step %d are the best",
            self.state.step,
            self.state.best_step,
        )
        if self.worker == 0:
            read_description(self.model_dir)
        return self.model_dir

    def _checkpoints(self, training: TrainingModel) -> Checkpoints:
        return Checkpoints(
            self.folder / "checkpoint",
            training.model.variables + training.optimizer.variables,
            self.state,
            self._identity(),
            writes=self.worker == 0,
        )

    def _identity(self) -> dict[str, Any]:
        """Returns what the run's result depends on, by the name for a message."""
        identity = {
            f"config.{name}": value
            for name, value in flat_fields(self.config).items()
            if name not in FREE_FIELDS | _PLACES
        }
        if self.config.training.cooldown_steps:  # It ends at max_steps.
            identity["config.training.max_steps"] = self.config.training.max_steps
        for side, data in (("train", self.train_data), ("dev", self.dev_data)):
            fingerprint = data.manifest["corpus_fingerprint"]
            identity[f"the fingerprint of config.data.{side}"] = fingerprint
        identity["the sha256 of config.data.subword_model"] = self.subwords.sha256
        if self.start:
            weights = read_description(self.start.model_dir)["weights_sha256"]
            identity["the sha256 of the weights to start from"] = weights
        return identity

    def _fit(self, training: TrainingModel, checkpoints: Checkpoints) -> None:
        start = self.state.step
        batches = self._batches()
        dataset = with_decoder_inputs(
            batches.dataset(start), self.config.role, self.config.seed, start
        )
        with self.interrupts.caught():
            try:
                training.fit(
                    dataset,
                    steps_per_epoch=self.config.training.max_steps - start,
                    callbacks=[
                        *self._callbacks(training, checkpoints),
                        *self._compilation(dataset, batches.shapes),
                    ],
                    shuffle=False,  # It is shuffled.
                    verbose=0,
                )
            except KeyboardInterrupt:
                checkpoints.save()
                logging.info(
                    "stopped after step %d; the same command goes on from there",
                    self.state.step,
                )
                raise

    def _batches(self) -> TrainingBatches:
        data = self.config.data
        return TrainingBatches(
            self.train_data,
            data.row_lengths,
            data.tokens_per_batch,
            self.config.seed,
            append_eos=self.config.role == "teacher",
            rows_multiple=self.strategy.num_replicas_in_sync,
        )

    def _callbacks(
        self, training: TrainingModel, checkpoints: Checkpoints
    ) -> list[keras.callbacks.Callback]:
        config, max_steps = self.config, self.config.training.max_steps
        log = callbacks.TrainingLog(
            self.state,
            self._summary_writer(),
            config.training,
            _RUNAWAY * math.log(self.sizes.vocab_size),
            MatrixRate(config, self.sizes, self.strategy.num_replicas_in_sync),
        )
        evaluation = callbacks.DevEvaluation(
            self.state,
            functools.partial(
                self._dev_set().evaluate, training, self._translate_fn(training)
            ),
            functools.partial(self._save_model, training),
            log,
            every=config.evaluation.every,
            max_steps=max_steps,
            select_by=config.evaluation.select_by,
            patience=config.evaluation.patience,
        )
        saver = callbacks.CheckpointSaver(
            checkpoints, self.state, config.training.checkpoint_every, max_steps
        )
        counter = callbacks.StepCounter(self.state)
        check = callbacks.InterruptCheck(self.interrupts)
        return [counter, log, evaluation, saver, check]

    def _compilation(
        self, dataset: tf.data.Dataset, shapes: list[tuple[int, int]]
    ) -> list[keras.callbacks.Callback]:
        # On TPUs an update is one program, adding up included.
        tpu = isinstance(self.strategy, tf.distribute.TPUStrategy)
        if self.config.training.jit_compile and len(shapes) > 1 and not tpu:
            return [ShapeCompilation(dataset.element_spec, shapes)]
        return []

    def _summary_writer(self) -> tf.summary.SummaryWriter:
        if self.worker:
            return tf.summary.create_noop_writer()
        return tf.summary.create_file_writer(str(self.folder / "logs"))

    def _dev_set(self) -> DevSet:
        data, role = self.config.data, self.config.role
        batches = dev_batches(
            self.dev_data,
            data.row_lengths,
            data.tokens_per_batch,
            append_eos=role == "teacher",
            rows_multiple=self.strategy.num_replicas_in_sync,
        )
        return DevSet(
            with_decoder_inputs(batches, role, DEV_SEED),
            self.dev_corpus,
            self.config.evaluation.bleu_sentences,
            data.target_language,
            self.interrupts,
        )

    def _translate_fn(self, training: TrainingModel) -> TranslateFn:
        data = self.config.data
        translator = make_translator(
            LoadedModel(
                self.config.role,
                training.model,
                Path(data.subword_model),
                self.subwords.sha256,
                data.source_language,
                data.target_language,
            ),
            xla=False,  # compiling takes longer than a few dev sets
            frozen=False,
        )

        def translate(lines: Sequence[str]) -> list[str]:
            translations = translator.translate(lines, self.decoding_options)
            return [translation.text for translation in translations]

        return translate

    def _save_model(self, training: TrainingModel) -> None:
        if self.worker == 0:
            data, folder = self.config.data, self.model_dir
            remove_leftovers(folder)
            save_model(
                training.model,
                folder,
                self.subwords.model,
                data.source_language,
                data.target_language,
            )
