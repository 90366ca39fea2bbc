"""Tiny exports that the tests share, and the calls that they make."""

import functools

import numpy as np
import tensorflow as tf

from cmlm_tf.serving.export import export_model
from cmlm_tf.serving.requests import DTYPES, OPTIONS
from cmlm_tf.translate.options import UnmaskingOptions
from tests import tiny_models
from tests.commands import run_command
from tests.serving.servable import Servable
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
#: Inputs of the signatures that have others than `text`, beside the options.
_INPUTS = {
    "decode_ids": ["ids"],
    "complete": ["text", "partial"],
    "score": ["text", "translation"],
}


def student_dir():
    """The model directory of the student that is exported."""
    return model_dir("student", MAX_LENGTH)


def translator():
    """The translator of the same student."""
    return tiny_models.translator("student", max_length=MAX_LENGTH)


@functools.cache
def translations(heuristic):
    """What the translator says to `LINES`, by one of `SETTINGS`."""
    options = UnmaskingOptions(heuristic, SETTINGS[heuristic])
    return translator().translate(LINES, options)


@functools.cache
def export_dir(**kwargs):
    """The SavedModel of the tiny student.

    That of a CPU is written by the command, where the extra `serving` is missing.
    """
    name = "-".join(map(str, kwargs.values())) or "plain"
    path = root() / f"exported-{name}" / "1"
    if kwargs:
        export_model(student_dir(), path, **kwargs)
        return path
    flags = [f"--model_dir={student_dir()}", f"--output_dir={path}"]
    missing = ("grpc", "tensorflow_serving")
    process = run_command("bin/export.py", *flags, missing=missing)
    assert process.returncode == 0, process.stderr
    return path


@functools.cache
def servable(**kwargs):
    """The SavedModel in a session."""
    return Servable(export_dir(**kwargs))


@functools.cache
def load():
    """The SavedModel as a Python program loads it."""
    return tf.saved_model.load(str(export_dir()))


def inputs_of(name, inputs, options=None):
    """The inputs of a signature by name, as lists; what is left out has its default."""
    given = {
        key: value if isinstance(value, list) else [value]
        for key, value in (OPTIONS | (options or {})).items()
    }
    own = dict(zip(_INPUTS.get(name, ["text"]), inputs, strict=True))
    return own if name == "text_only" else own | given


def arrays(inputs):
    """The values as a client sends them."""
    return {
        name: tf.constant(values, DTYPES.get(name)).numpy()
        for name, values in inputs.items()
    }


def call(name, inputs, options=None, **kwargs):
    """Calls a signature; returns its outputs as lists, strings decoded."""
    given = arrays(inputs_of(name, inputs, options))
    outputs = servable(**kwargs).predict(name, given)
    return {key: as_list(value) for key, value in outputs.items()}


def as_list(array):
    """An array as nested lists, strings decoded."""
    return tf.nest.map_structure(
        lambda x: x.decode() if isinstance(x, bytes) else x, np.asarray(array).tolist()
    )
