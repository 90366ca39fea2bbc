"""From a model directory, or the name of a shipped model, to its translator."""

import os
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.pretrained import MODELS
from cmlm_tf.translate.student import StudentTranslator
from cmlm_tf.translate.teacher import TeacherTranslator
from cmlm_tf.translate.translator import Translator


def load_translator(
    model: str | os.PathLike[str],
    dtype: str = "float32",
    role: str | None = None,
    **kwargs: Any,
) -> Translator:
    """Loads a model and returns its translator.

        translator = load_translator("en_de/student")
        translator.translate(["Where is the key?"])[0].text

    Args:
        model: a model directory, or the name of a model that comes with the
            package: `en_de/student` or `en_de/teacher`. A folder of such a name
            goes before.
        dtype: `float32`, or `bfloat16`, which is faster and less exact.
        role: what it must be, `teacher` or `student`; None for either.
        **kwargs: for `Translator`: `sentences_per_batch`, `xla`, `deterministic`,
            `frozen`.

    Returns:
        A `StudentTranslator` or a `TeacherTranslator`; see `Translator.translate`.

    Raises:
        UserError: there is no such model, or it is damaged or of the other role.
    """
    return make_translator(load_model(find_model(model), dtype, role), **kwargs)


def find_model(model: str | os.PathLike[str]) -> Path:
    """Returns the folder of a model directory or of a shipped model's name.

    Raises:
        UserError: it is neither.
    """
    folder = Path(model)
    if folder.exists():
        return folder
    name = os.fspath(model)
    if name in MODELS:
        return MODELS[name]
    names = ", ".join(MODELS)
    raise UserError(f"{name}: no such folder, nor a shipped model ({names})")


def make_translator(loaded: LoadedModel, **kwargs: Any) -> Translator:
    """Returns the translator that fits a loaded model."""
    kind = StudentTranslator if loaded.role == "student" else TeacherTranslator
    return kind(loaded, **kwargs)
