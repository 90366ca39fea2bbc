"""Machine translation with conditional masked language models.

A student fills in a masked target sentence in a few passes; a decoding rule says
which positions a pass unmasks, and so trades quality for speed. After Kreutzer,
Foster & Cherry, Inference Strategies for Machine Translation with Conditional
Masking (EMNLP 2020).

Example:
    import cmlm_tf

    translator = cmlm_tf.load_translator(cmlm_tf.EN_DE_STUDENT)
    options = cmlm_tf.UnmaskingOptions("comb_thresh", 0.1)
    for translation in translator.translate(["The dog sees a cat."], options):
        print(translation.text, translation.iterations)

What is here:
    load_translator: the translator of a model directory, student or teacher.
    UnmaskingOptions: how a student decodes: rule, setting, length candidates.
    BeamOptions: how a teacher decodes.
    Translation: what a translator returns for a line.
    UserError: what a user can mend, in one line.
    EN_DE_STUDENT, EN_DE_TEACHER, EN_DE_TEST: the English-German models that come
        with the package, and their test set.

Everything is loaded when it is first used: `import cmlm_tf` takes no time. The paper's
section 3 alone, for a model of one's own, is `cmlm_tf.decoding`.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "load_translator": "cmlm_tf.translate.loading",
    "UnmaskingOptions": "cmlm_tf.translate.options",
    "BeamOptions": "cmlm_tf.translate.options",
    "Translation": "cmlm_tf.translate.results",
    "UserError": "cmlm_tf.errors",
    "EN_DE_STUDENT": "cmlm_tf.pretrained",
    "EN_DE_TEACHER": "cmlm_tf.pretrained",
    "EN_DE_TEST": "cmlm_tf.pretrained",
}

__all__ = [
    "EN_DE_STUDENT",
    "EN_DE_TEACHER",
    "EN_DE_TEST",
    "BeamOptions",
    "Translation",
    "UnmaskingOptions",
    "UserError",
    "load_translator",
]

if TYPE_CHECKING:
    from cmlm_tf.errors import UserError
    from cmlm_tf.pretrained import EN_DE_STUDENT, EN_DE_TEACHER, EN_DE_TEST
    from cmlm_tf.translate.loading import load_translator
    from cmlm_tf.translate.options import BeamOptions, UnmaskingOptions
    from cmlm_tf.translate.results import Translation
else:  # Type checkers would take any name for one of the package.

    def __getattr__(name: str):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
