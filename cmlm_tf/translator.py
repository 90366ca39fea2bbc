"""Text in, translations out."""

import os
from pathlib import Path

from cmlm_tf.base_translator import Translator
from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.student_translator import StudentTranslator
from cmlm_tf.teacher_translator import TeacherTranslator


def load_translator(
    model_dir: str | os.PathLike[str], dtype: str = "float32", **kwargs
) -> Translator:
    """Loads a model directory and returns the translator that fits it.

    Args:
        model_dir: the folder.
        dtype: `float32` or `bfloat16`.
        **kwargs: for `Translator`.

    Raises:
        UserError: where the directory is no model or damaged.
    """
    return make_translator(load_model(Path(model_dir), dtype), **kwargs)


def make_translator(loaded: LoadedModel, **kwargs) -> Translator:
    """Returns the translator that fits a loaded model."""
    kind = StudentTranslator if loaded.role == "student" else TeacherTranslator
    return kind(loaded, **kwargs)
