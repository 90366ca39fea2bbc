"""A model as one folder: config, subword model and weights."""

import dataclasses
import errno
import json
import os
import shutil
from pathlib import Path

import keras
import numpy as np

import cmlm_tf
from cmlm_tf import special_ids
from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig
from cmlm_tf.modeling.layers import dtype_policy
from cmlm_tf.modeling.student import ConditionalMaskedLM
from cmlm_tf.modeling.teacher import AutoregressiveTransformer
from cmlm_tf.modeling.transformer import Transformer
from cmlm_tf.modeling.weights_file import check_weights_file
from cmlm_tf.utils.files import check_sha256, replaced_folder, sha256_file
from cmlm_tf.utils.json_files import json_hash, read_json

CONFIG_FILE = "config.json"
SUBWORD_FILE = "subword.model"
WEIGHTS_FILE = "model.weights.h5"
MODEL_FILES = (CONFIG_FILE, SUBWORD_FILE, WEIGHTS_FILE)

#: The field of the config with each file's hash.
_HASHES = {SUBWORD_FILE: "subword_sha256", WEIGHTS_FILE: "weights_sha256"}

#: Bytes that HDF5 needs for a weight, beside its values, at the most.
_WEIGHT_HEADER = 4096

FORMAT = 1
ROLES = {"teacher": AutoregressiveTransformer, "student": ConditionalMaskedLM}

_CONVENTIONS = {
    "special_ids": {
        "pad": special_ids.PAD_ID,
        "unk": special_ids.UNK_ID,
        "bos": special_ids.BOS_ID,
        "eos": special_ids.EOS_ID,
        "mask": special_ids.MASK_ID,
    },
    "length": "class i is length i + 1, in target subwords without BOS and EOS",
    "score": "sum of the natural log-probabilities of the tokens as written, "
    "divided by their number",
}


@dataclasses.dataclass(frozen=True)
class LoadedModel:
    """What a model directory holds.

    Attributes:
        role: `teacher` or `student`.
        model: the Keras model with its weights.
        subword_path: the subword model's file in the directory.
        subword_sha256: hash of that file.
        source_language: code such as `en`.
        target_language: code such as `de`.
    """

    role: str
    model: Transformer
    subword_path: Path
    subword_sha256: str
    source_language: str
    target_language: str


def save_model(
    model: Transformer,
    directory: str | os.PathLike[str],
    subword_model: bytes,
    source_language: str,
    target_language: str,
) -> None:
    """Writes a model directory; a folder already there is replaced as a whole.

    Args:
        model: a teacher or a student.
        directory: the folder to write.
        subword_model: the file's bytes that the model was trained with.
        source_language: code such as `en`.
        target_language: code such as `de`.

    Raises:
        UserError: it cannot be written; a folder already there stays.
    """
    role = next(name for name, kind in ROLES.items() if type(model) is kind)
    sizes = dataclasses.asdict(model.config)
    try:
        with replaced_folder(directory) as folder:
            (folder / SUBWORD_FILE).write_bytes(subword_model)
            _require_room(folder, model)
            model.save_weights(folder / WEIGHTS_FILE)
            hashes = {key: sha256_file(folder / name) for name, key in _HASHES.items()}
            description = {
                "format": FORMAT,
                "cmlm_tf": cmlm_tf.__version__,
                "role": role,
                "source_language": source_language,
                "target_language": target_language,
                "model": sizes,
                "model_sha256": json_hash(sizes),
                **hashes,
                **_CONVENTIONS,
            }
            text = json.dumps(description, indent=2) + "\n"
            (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{directory}: not saved: {error}") from error


def load_model(
    directory: str | os.PathLike[str],
    dtype: str = "float32",
    role: str | None = None,
) -> LoadedModel:
    """Reads a model directory; no code from it is run.

    Args:
        directory: the folder.
        dtype: `float32`, or `bfloat16` for faster and less exact inference.
        role: what it must hold, `teacher` or `student`; None for either.

    Returns:
        The model and what belongs to it.

    Raises:
        UserError: where a file is missing or damaged, or the model has the other
            role; names the file or the folder.
    """
    folder = Path(directory)
    description = read_description(folder, role)
    for name, key in _HASHES.items():
        check_sha256(folder / name, str(description[key]), folder / CONFIG_FILE)
    sizes = model_sizes(folder, description)
    check_weights_file(folder / WEIGHTS_FILE, sizes)
    with dtype_policy(dtype):
        model = ROLES[description["role"]](sizes)
    try:
        model.load_weights(folder / WEIGHTS_FILE)
    except Exception as error:  # Whatever Keras finds wrong.
        raise UserError(
            f"{folder / WEIGHTS_FILE}: does not fit the model in {CONFIG_FILE}"
        ) from error
    if not all(keras.ops.all(keras.ops.isfinite(weight)) for weight in model.weights):
        raise UserError(f"{folder / WEIGHTS_FILE}: a weight is not finite")
    return LoadedModel(
        description["role"],
        model,
        folder / SUBWORD_FILE,
        description["subword_sha256"],
        description["source_language"],
        description["target_language"],
    )


def read_description(
    directory: str | os.PathLike[str], role: str | None = None
) -> dict:
    """Reads and checks `config.json` of a model directory; see `load_model`.

    Raises:
        UserError: where it is missing, no JSON, not one of ours, or of a model of
            the other role.
    """
    path = Path(directory) / CONFIG_FILE
    try:
        description = read_json(path)
    except UserError as error:
        raise UserError(f"{error}; not a model directory") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise UserError(f"{path}: not a model of format {FORMAT}")
    if description.get("role") not in list(ROLES):
        raise UserError(f"{path}: role must be one of {', '.join(ROLES)}")
    if role not in (None, description["role"]):
        raise UserError(f"{directory}: not a {role} but a {description['role']}")
    for name in ("source_language", "target_language", *_HASHES.values()):
        value = description.get(name)
        if not isinstance(value, str) or not value.isprintable():
            raise UserError(f"{path}: {name} must be a printable string")
    for name, value in _CONVENTIONS.items():
        if description.get(name) != value:
            raise UserError(
                f"{path}: {name} is {description.get(name)!r}, expected {value!r}"
            )
    return description


def model_sizes(
    directory: str | os.PathLike[str], description: dict
) -> TransformerConfig:
    """Returns the sizes in what `read_description` returns of a model directory.

    Raises:
        UserError: they are incomplete, out of range or not those that were saved.
    """
    path = Path(directory) / CONFIG_FILE
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    sizes = description.get("model")
    if not isinstance(sizes, dict) or set(sizes) != fields:
        raise UserError(f"{path}: model must hold {', '.join(sorted(fields))}")
    try:
        config = TransformerConfig(**sizes)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    if description.get("model_sha256", json_hash(sizes)) != json_hash(sizes):
        raise UserError(f"{path}: model was changed: its sha256 is not model_sha256")
    return config


def _require_room(folder: Path, model: Transformer) -> None:
    """Finds a full disk before HDF5 does, which then fails in many lines."""
    sizes = (np.asarray(weight).nbytes + _WEIGHT_HEADER for weight in model.weights)
    if shutil.disk_usage(folder).free < sum(sizes):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
