"""Text in, translations out."""

import os

from cmlm_tf.modeling.model_dir import LoadedModel, load_model
from cmlm_tf.translate.student import StudentTranslator
from cmlm_tf.translate.teacher import TeacherTranslator
from cmlm_tf.translate.translator import Translator


def load_translator(
    model_dir: str | os.PathLike[str],
    dtype: str = "float32",
    role: str | None = None,
    **kwargs,
) -> Translator:
    """Loads a model directory and returns the translator that fits it.

    Args:
        model_dir: the folder.
        dtype: `float32` or `bfloat16`.
        role: what it must hold, `teacher` or `student`; None for either.
        **kwargs: for `Translator`.

    Raises:
        UserError: where the directory is no model, damaged or of the other role.
    """
    return make_translator(load_model(model_dir, dtype, role), **kwargs)


def make_translator(loaded: LoadedModel, **kwargs) -> Translator:
    """Returns the translator that fits a loaded model."""
    kind = StudentTranslator if loaded.role == "student" else TeacherTranslator
    return kind(loaded, **kwargs)
