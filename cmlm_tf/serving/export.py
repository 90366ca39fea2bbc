"""Writes a SavedModel of a student, as TensorFlow Serving loads it."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from absl import logging

from cmlm_tf.data.subwords import SubwordModel
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.serving.buckets import BATCH_SIZES, BEAMS, CompiledEngine
from cmlm_tf.serving.completion import check_mark
from cmlm_tf.serving.engine import Engine
from cmlm_tf.serving.requests import OPTIONS
from cmlm_tf.serving.signatures import ServedStudent, make_signatures
from cmlm_tf.serving.speed_tables import servable
from cmlm_tf.serving.text import ServedSubwords
from cmlm_tf.serving.warmup import (
    Requests,
    every_shape,
    every_signature,
    write_warmup,
)
from cmlm_tf.translate.calibration import SpeedTable, load_calibration
from cmlm_tf.utils.files import check_parents, new_folder

#: Length candidates that a request may ask for, unless the export says otherwise.
MAX_LENGTH_BEAM = 10
_LARGEST_VERSION = 2**63 - 1


def export_model(
    model_dir: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    dtype: str = "float32",
    device: str = "cpu",
    max_length_beam: int | None = None,
) -> None:
    """Writes a model directory's student as a SavedModel.

    Args:
        model_dir: the model directory.
        output_dir: the folder of this version; its name is a number.
        dtype: `float32` or `bfloat16`, of the weights and the computation.
        device: one of `DEVICES`.
        max_length_beam: the most length candidates that a request may ask for;
            `MAX_LENGTH_BEAM` if left out, or all lengths of a smaller model.

    Raises:
        UserError: the model is no student or damaged, more length candidates are
            allowed than it has lengths or fewer than a request has by default, or
            the folder's name is no version or it is there already.
    """
    output = Path(output_dir)
    _check_version(output)
    loaded = load_model(model_dir, dtype, "student")
    calibration = load_calibration(model_dir)
    most = _length_beam(max_length_beam, loaded.model.config.max_length)
    subwords = SubwordModel(loaded.subword_path)
    engine = make_engine(loaded.model, subwords.continuing_ids(), device, most)
    tables = servable(calibration.tables) if calibration else []
    module, signatures = build_module(loaded, engine, most, tables)
    options = tf.saved_model.SaveOptions(function_aliases=engine.functions)
    try:
        with new_folder(output) as folder, _without_chatter():
            tf.saved_model.save(module, str(folder), signatures, options)
            write_warmup(folder, _warmup_requests(loaded, engine))
    except (OSError, tf.errors.OpError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{output}: not written: {reason}") from error


def _check_version(output: Path) -> None:
    version = output.name
    if not re.fullmatch("0|[1-9][0-9]*", version):
        raise UserError(
            f"{output}: the last part must be a version, a number without leading zeros"
        )
    if int(version) > _LARGEST_VERSION:
        raise UserError(f"{output}: versions are numbers up to {_LARGEST_VERSION}")
    if os.path.lexists(output):
        raise UserError(f"{output}: is there already; versions are not replaced")
    check_parents(output)


def _length_beam(asked: int | None, num_lengths: int) -> int:
    if asked is None:
        return min(MAX_LENGTH_BEAM, num_lengths)
    least = OPTIONS["length_beam"]
    if not least <= asked <= num_lengths:
        raise UserError(
            f"max_length_beam must be from {least}, the default of a request, to "
            f"{num_lengths}, the lengths of the model, not {asked}"
        )
    return asked


def make_engine(
    student: ConditionalMaskedLM,
    continuing_ids: Sequence[int],
    device: str,
    max_length_beam: int,
) -> Engine:
    """Returns what decodes on a device; the student must not be trained then."""
    if device == "cpu":
        student.embedding.output_table = student.embedding.output_copy()
        return Engine(student, continuing_ids)
    return CompiledEngine(student, continuing_ids, device == "gpu", max_length_beam)


def build_module(
    loaded: LoadedModel,
    engine: Engine,
    max_length_beam: int,
    tables: Sequence[SpeedTable],
) -> tuple[tf.Module, dict[str, Any]]:
    """Returns what is saved: a module that holds all weights, and the signatures.

    Args:
        loaded: a student.
        engine: decodes with it.
        max_length_beam: the most length candidates of a text.
        tables: its calibration.

    Raises:
        UserError: the subword model cannot serve.
    """
    module = tf.Module()
    module.subwords = ServedSubwords(SubwordModel(loaded.subword_path))
    check_mark(module.subwords)
    module.subword_model = tf.saved_model.Asset(str(loaded.subword_path))
    served = ServedStudent(
        loaded.model, module.subwords, engine, max_length_beam, tables
    )
    module.weights = engine.weights
    module.functions = engine.functions
    signatures = make_signatures(served)
    for name, function in signatures.items():
        setattr(module, name, function)
    return module, signatures


def _warmup_requests(loaded: LoadedModel, engine: Engine) -> Requests:
    subwords = SubwordModel(loaded.subword_path)
    yield from every_signature(subwords)
    if isinstance(engine, CompiledEngine):
        yield from every_shape(subwords, engine.lengths, BATCH_SIZES, BEAMS)


@contextlib.contextmanager
def _without_chatter() -> Iterator[None]:
    """Keeps TensorFlow from listing every input of every function."""
    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
