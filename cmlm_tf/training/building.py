"""From a config to a model that `fit` can train."""

from typing import NamedTuple

import keras
import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.initialization import check_sizes, initialize_from
from cmlm_tf.modeling.model_dir import (
    ROLES,
    dtype_policy,
    load_model,
    model_sizes,
    read_description,
)
from cmlm_tf.training.optimizer import Adam
from cmlm_tf.training.schedules import InverseSquareRoot
from cmlm_tf.training.steps import StudentTraining, TeacherTraining, TrainingModel


def transformer_config(
    config: ml_collections.ConfigDict, subwords: SubwordModel
) -> TransformerConfig:
    """Returns the sizes of the model that a training config asks for."""
    return TransformerConfig(vocab_size=subwords.vocab_size, **config.model)


class Start(NamedTuple):
    """Where a model's first weights come from.

    Attributes:
        model_dir: a model directory.
        role: what it must hold, `teacher` or `student`.
        field: of the config, that names it.
    """

    model_dir: str
    role: str
    field: str


def start_of(config: ml_collections.ConfigDict) -> Start | None:
    """Returns the model that training starts from, or None for random weights.

    A student starts from its teacher, unless `training.initial_dir` names a student.
    """
    if config.training.initial_dir:
        return Start(config.training.initial_dir, config.role, "training.initial_dir")
    if config.role == "student":
        return Start(config.student.teacher_dir, "teacher", "student.teacher_dir")
    return None


def check_start(
    start: Start, subword_model: str, subwords: SubwordModel, sizes: TransformerConfig
) -> None:
    """Checks that the model to start from has the right role, vocabulary and sizes.

    Raises:
        UserError: names what differs, or what is wrong with that model.
    """
    model_dir = start.model_dir
    found = read_description(model_dir, start.role)
    if found["subword_sha256"] != subwords.sha256:
        raise UserError(
            f"the vocabulary {subword_model} (sha256 {subwords.sha256[:12]}...) is not "
            f"that of the model to start from, {model_dir} (sha256 "
            f"{found['subword_sha256'][:12]}...)"
        )
    check_sizes(sizes, model_sizes(model_dir, found))


def build(
    config: ml_collections.ConfigDict,
    sizes: TransformerConfig,
    strategy: tf.distribute.Strategy,
) -> TrainingModel:
    """Builds model and optimizer; equal seeds give equal weights.

    Args:
        config: a checked training config.
        sizes: of the model.
        strategy: where the variables live.

    Returns:
        The compiled training model, its weights random.
    """
    keras.utils.set_random_seed(config.seed)
    with dtype_policy(config.training.dtype), strategy.scope():
        training = _wrap(config, ROLES[config.role](sizes))
        optimizer = _optimizer(config)
        optimizer.build(training.trainable_variables)
        training.compile(
            optimizer=optimizer,
            jit_compile=False,
            steps_per_execution=config.training.steps_per_execution,
        )
    logging.info("%s: %d weights", config.role, training.model.count_params())
    return training


def initialize(training: TrainingModel, start: Start) -> None:
    """Copies the weights to start from and reports what is new."""
    report = initialize_from(training.model, load_model(start.model_dir).model)
    logging.info("from %s: %s", start.model_dir, report)


def _wrap(config: ml_collections.ConfigDict, model: keras.Model) -> TrainingModel:
    smoothing = config.training.label_smoothing
    jit_compile = config.training.jit_compile
    if config.role == "teacher":
        return TeacherTraining(model, smoothing, jit_compile)
    weight = config.student.length_loss_weight
    return StudentTraining(model, weight, smoothing, jit_compile)


def _optimizer(config: ml_collections.ConfigDict) -> Adam:
    """Returns Adam as in Vaswani et al. (2017), section 5.3, with an average."""
    return Adam(
        InverseSquareRoot(
            config.model.model_dim,
            config.training.warmup_steps,
            config.training.learning_rate_scale,
            config.training.max_steps,
            config.training.cooldown_steps,
        ),
        beta_1=0.9,
        beta_2=0.98,
        epsilon=1e-9,
        clip_norm=config.training.clip_norm,
        average_decay=config.training.ema_decay,
    )
