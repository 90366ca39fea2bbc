"""Figures of tiny models with random weights."""

import json
from unittest import mock

from cmlm_tf.evaluation.figures import measure, measure_model
from cmlm_tf.evaluation.figures.run import measure_figures
from tests.tiny_models import WORDS, model_dir

#: A random model's probabilities are small.
SETTINGS = {
    "mask_predict": (8, 4, 2),
    "fixed_k": (1, 2, 4),
    "thresh": (0.1, 0.001),
    "comb_thresh": (0.1, 1e-4, 1e-8),
    "fcomb_thresh": (0.1, 1e-8),
}
SMALL = {
    "SETTINGS": SETTINGS,
    "MOST_BEAMS": 3,
    "LENGTHS_SPEED": 1.5,
    "PASSES_SPEEDS": (1.2, 2.0),
    "PROMISES": (1.5, 2.0),
    "STRATEGY_ITERATIONS": 4,
}


def measure_tiny(folder, names=("all",), label="en-de, tiny", **kwargs):
    """Measures figures of tiny models on `a.en` and `a.de` in a folder."""
    corpus = f"files:{folder}/a.en,{folder}/a.de"
    given = {"student_dir": str(model_dir("student")), "dev": corpus, "test": corpus}
    given |= {"teacher_dir": str(model_dir("teacher"))} | kwargs
    with (
        mock.patch.multiple(measure, **SMALL),
        mock.patch.object(measure_model, "SETTINGS", SETTINGS),
        mock.patch.object(measure_model, "MOST_BEAMS", 3),
    ):
        return measure_figures(names, folder / "out", label, **given)


def write_corpus(folder, count=6, words=4):
    """Writes `a.en` and `a.de` of so many lines."""
    for name, first in (("a.en", 0), ("a.de", 20)):
        lines = (" ".join(WORDS[first + i : first + i + words]) for i in range(count))
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")


def result_of(folder, name):
    """Reads a figure in a folder's `out`."""
    return json.loads((folder / "out" / f"{name}.json").read_text("utf-8"))
