"""Tiny exports that the tests share, and the calls that they make."""

import functools

import tensorflow as tf
import tensorflow_text  # noqa: F401  (its ops are in the graph)

from cmlm_tf.serving.export import export_model
from cmlm_tf.serving.requests import DTYPES, OPTIONS
from tests import tiny_models
from tests.tiny_models import model_dir, root

MAX_LENGTH = 40
SETTINGS = {
    "mask_predict": 4,
    "fixed_k": 2,
    "thresh": 0.3,
    "comb_thresh": 0.1,
    "fcomb_thresh": 0.1,
}
LINES = [
    "the small cat sees one dog",
    "a house",
    "",
    "two dogs and three cats like the old red boat under the tree",
    "tree",
    " \u3000\u0085\t",
    "Ein 😀 Haus, <mask> </s> 中",
]


def student_dir():
    """The model directory of the student that is exported."""
    return model_dir("student", MAX_LENGTH)


def translator():
    """The translator of the same student."""
    return tiny_models.translator("student", max_length=MAX_LENGTH)


@functools.cache
def export_dir(**kwargs):
    """The SavedModel of the tiny student."""
    name = "-".join(map(str, kwargs.values())) or "plain"
    path = root() / f"exported-{name}" / "1"
    export_model(student_dir(), path, **kwargs)
    return path


@functools.cache
def load(**kwargs):
    """The loaded SavedModel."""
    return tf.saved_model.load(str(export_dir(**kwargs)))


def inputs_of(name, inputs, options):
    """The inputs of a signature by name, as lists; what is left out has its default."""
    given = {
        key: value if isinstance(value, list) else [value]
        for key, value in (OPTIONS | (options or {})).items()
    }
    names = {"decode_ids": ["ids"], "complete": ["text", "partial"]}
    names |= {"score": ["text", "translation"]}
    own = dict(zip(names.get(name, ["text"]), inputs, strict=True))
    return own if name == "text_only" else own | given


def call(name, inputs, options=None, **kwargs):
    """Calls a signature; returns its outputs as lists, strings decoded."""
    tensors = {
        key: tf.constant(value, DTYPES.get(key))
        for key, value in inputs_of(name, inputs, options).items()
    }
    outputs = load(**kwargs).signatures[name](**tensors)
    return {key: _as_list(value.numpy()) for key, value in outputs.items()}


def _as_list(array):
    if array.dtype != object:
        return array.tolist()
    return tf.nest.map_structure(bytes.decode, array.tolist())
