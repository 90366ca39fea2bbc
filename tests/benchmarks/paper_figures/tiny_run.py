"""Figures of tiny models with random weights."""

import contextlib
import json
from unittest import mock

from benchmarks.paper_figures import measure
from benchmarks.paper_figures.page import measure_figures
from benchmarks.paper_figures.points import Text, Workbench
from cmlm_tf.decoding.heuristics import HEURISTICS
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
    "MOST_BEAMS": 3,
    "LENGTHS_SPEED": 1.5,
    "PASSES_SPEEDS": (1.2, 2.0),
    "PROMISES": (1.5, 2.0),
    "STRATEGY_ITERATIONS": 4,
}


def text(words=4):
    """Six lines of so many words."""
    sides = ([" ".join(WORDS[a + i :][:words]) for i in range(6)] for a in (0, 20))
    return Text(*map(tuple, sides))


def workbench(folder, test=None):
    """A workbench that keeps its points in `cache`; dev and test are one text."""
    models = {role: str(model_dir(role)) for role in ("student", "teacher")}
    test = test or text()
    return Workbench(folder / "cache", models, test, test, sentences_per_batch=4)


def measure_tiny(folder, bench, names=tuple(measure.FIGURES), **small):
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.multiple(measure, **SMALL | small))
        for name, settings in SETTINGS.items():
            rule = HEURISTICS[name]
            stack.enter_context(mock.patch.object(rule, "grid", settings))
        return measure_figures(folder, names, "en-de, tiny", bench)


def result_of(folder, name):
    return json.loads((folder / f"{name}.json").read_text("utf-8"))
