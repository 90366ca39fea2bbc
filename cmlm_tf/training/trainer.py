"""Trains a teacher or a student, from a config to a model directory."""

import functools
import itertools
import os
from pathlib import Path
from typing import Any

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
from cmlm_tf.training.building import (
    build,
    check_start,
    initialize,
    start_of,
    transformer_config,
)
from cmlm_tf.training.config import FREE_FIELDS, flat_fields, validate_config
from cmlm_tf.training.dev_set import DevSet, decoding_options
from cmlm_tf.training.distribution import (
    lost_workers_named,
    make_strategy,
    worker_index,
)
from cmlm_tf.training.inputs import DEV_SEED, with_decoder_inputs
from cmlm_tf.training.interrupts import Interrupts
from cmlm_tf.training.loop import Loop
from cmlm_tf.training.matrix_rate import MatrixRate
from cmlm_tf.training.run_folder import (
    check_best_model,
    exclusive_folder,
    full_disk_named,
)
from cmlm_tf.training.state import Checkpoints, RunState
from cmlm_tf.training.training_log import TrainingLog
from cmlm_tf.training.training_model import TrainingModel
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
        self.state, self.interrupts = RunState(), Interrupts()
        self.subwords = SubwordModel(config.data.subword_model)
        self.sizes = transformer_config(config, self.subwords)
        self.decoding_options = decoding_options(config)
        start = self.start = start_of(config)
        if start:
            if os.path.realpath(start.model_dir) == os.path.realpath(self.model_dir):
                raise UserError(
                    f"config.{start.field}: training would overwrite "
                    f"{start.model_dir}; use another output folder"
                )
            check_start(start, config.data.subword_model, self.subwords, self.sizes)
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
        checkpoints = Checkpoints(
            self.folder / "checkpoint",
            training.model.variables + training.optimizer.variables,
            self.state,
            self._identity(),
            writes=self.worker == 0,
        )
        if checkpoints.restore():
            if self.state.best_step:
                check_best_model(self.folder)
            logging.info("going on after step %d", self.state.step)
        elif self.start:
            initialize(training, self.start)
        if not self.state.is_over(self.config.training.max_steps):
            self._update(training, checkpoints)
        logging.info(
            "trained %d steps; the weights of step %d are the best",
            self.state.step,
            self.state.best_step,
        )
        return self.model_dir

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

    def _update(self, training: TrainingModel, checkpoints: Checkpoints) -> None:
        config, start = self.config, self.state.step
        batches = TrainingBatches(
            self.train_data,
            config.data.row_lengths,
            config.data.tokens_per_batch,
            config.seed,
            append_eos=config.role == "teacher",
            rows_multiple=self.strategy.num_replicas_in_sync,
        )
        dataset = batches.dataset(start)
        dataset = with_decoder_inputs(dataset, config.role, config.seed, start)
        rate = MatrixRate(config, self.sizes, self.strategy.num_replicas_in_sync)
        log = TrainingLog(
            training, self.state, self._summary_writer(), config.training, rate
        )
        Loop(
            training,
            self.state,
            log,
            self._dev_set(training),
            functools.partial(self._save_model, training),
            checkpoints,
            self.interrupts,
            config,
        ).run(dataset, self._shapes_to_compile(batches.shapes))

    def _shapes_to_compile(self, shapes: list[tuple[int, int]]):
        # On TPUs an update is one program, adding up included.
        tpu = isinstance(self.strategy, tf.distribute.TPUStrategy)
        side_by_side = self.config.training.jit_compile and len(shapes) > 1 and not tpu
        return shapes if side_by_side else []

    def _summary_writer(self) -> tf.summary.SummaryWriter:
        if self.worker:
            return tf.summary.create_noop_writer()
        return tf.summary.create_file_writer(str(self.folder / "logs"))

    def _dev_set(self, training: TrainingModel) -> DevSet:
        config, data = self.config, self.config.data
        batches = dev_batches(
            self.dev_data,
            data.row_lengths,
            data.tokens_per_batch,
            append_eos=config.role == "teacher",
            rows_multiple=self.strategy.num_replicas_in_sync,
        )
        model = LoadedModel(
            config.role,
            training.model,
            Path(data.subword_model),
            self.subwords.sha256,
            data.source_language,
            data.target_language,
        )
        return DevSet(
            with_decoder_inputs(batches, config.role, DEV_SEED),
            list(itertools.islice(self.dev_corpus, config.evaluation.bleu_sentences)),
            data.target_language,
            # Compiling would take longer than a few dev sets.
            make_translator(model, xla=False, frozen=False),
            self.decoding_options,
            self.interrupts,
        )

    def _save_model(self, training: TrainingModel) -> None:
        if self.worker == 0:
            data = self.config.data
            languages = data.source_language, data.target_language
            remove_leftovers(self.model_dir)
            save_model(training.model, self.model_dir, self.subwords.model, *languages)
