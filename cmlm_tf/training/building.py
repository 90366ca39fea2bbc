"""From a config to a model that can be trained."""

from collections.abc import Sequence
from typing import NamedTuple

import keras
import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.initialization import check_sizes, initialize_from
from cmlm_tf.modeling.layers import dtype_policy
from cmlm_tf.modeling.model_dir import (
    ROLES,
    load_model,
    model_sizes,
    read_description,
)
from cmlm_tf.modeling.transformer import Transformer
from cmlm_tf.training.losses import allowed_vocabulary
from cmlm_tf.training.objectives import (
    Objective,
    StudentObjective,
    TeacherObjective,
)
from cmlm_tf.training.optimizer import Adam
from cmlm_tf.training.schedules import InverseSquareRoot
from cmlm_tf.training.training_model import TrainingModel


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
        The training model, its weights random.
    """
    keras.utils.set_random_seed(config.seed)
    with dtype_policy(config.training.dtype), strategy.scope():
        model = ROLES[config.role](sizes)
        training = TrainingModel(
            model,
            _objective(config, model),
            _optimizer(config, model.trainable_variables),
            config.training.steps_per_execution,
            config.training.jit_compile,
        )
    logging.info("%s: %d weights", config.role, model.count_params())
    return training


def initialize(training: TrainingModel, start: Start) -> None:
    """Copies the weights to start from and reports what is new."""
    report = initialize_from(training.model, load_model(start.model_dir).model)
    logging.info("from %s: %s", start.model_dir, report)


def _objective(config: ml_collections.ConfigDict, model: Transformer) -> Objective:
    allowed = allowed_vocabulary(model.config.vocab_size, model.banned_ids)
    smoothing = config.training.label_smoothing
    if config.role == "teacher":
        return TeacherObjective(allowed, smoothing)
    return StudentObjective(allowed, config.student.length_loss_weight, smoothing)


def _optimizer(
    config: ml_collections.ConfigDict, weights: Sequence[keras.Variable]
) -> Adam:
    training = config.training
    schedule = InverseSquareRoot(
        config.model.model_dim,
        training.warmup_steps,
        training.learning_rate_scale,
        training.max_steps,
        training.cooldown_steps,
    )
    return Adam(weights, schedule, training.clip_norm, training.ema_decay)
