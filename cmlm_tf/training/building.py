"""From a config to a model that `fit` can train."""

import keras
import ml_collections
import tensorflow as tf
from absl import logging

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.initialization import check_sizes, initialize_from_teacher
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


def check_teacher(
    config: ml_collections.ConfigDict, subwords: SubwordModel, sizes: TransformerConfig
) -> None:
    """Checks that a student's teacher exists and has its vocabulary and sizes.

    Raises:
        UserError: names what differs, or what is wrong with the teacher.
    """
    teacher_dir = config.student.teacher_dir
    teacher = read_description(teacher_dir)
    if teacher["role"] != "teacher":
        raise UserError(f"{teacher_dir}: holds a {teacher['role']}, not a teacher")
    if teacher["subword_sha256"] != subwords.sha256:
        raise UserError(
            f"the student's vocabulary {config.data.subword_model} (sha256 "
            f"{subwords.sha256[:12]}...) is not that of its teacher {teacher_dir} "
            f"(sha256 {teacher['subword_sha256'][:12]}...)"
        )
    check_sizes(sizes, model_sizes(teacher_dir, teacher))


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
        The compiled training model; a student is not yet initialised from its
        teacher.
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


def initialize_student(
    config: ml_collections.ConfigDict, training: TrainingModel
) -> None:
    """Copies the teacher's weights into the student and reports what is new."""
    teacher = load_model(config.student.teacher_dir)
    logging.info("student: %s", initialize_from_teacher(training.model, teacher.model))


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
        jit_compile=config.training.jit_compile,
    )
