r"""Measures the paper's figures on your models and text: JSON, tables and plots.

Interrupted, the same command goes on. docs/figures.md tells more of the figures:
tradeoff, strategies, passes, lengths, dev_test, promises, length_classifier,
probabilities and temperature.

Examples:
  python bin/figures.py --figures=all --output_dir=results/figures/mine \
      --student=student --teacher=teacher --label="en-de, small" \
      --dev=files:dev.en,dev.de --test=files:test.en,test.de
  python bin/figures.py --redraw --output_dir=results/figures --page=docs/findings.md
"""

import functools

from absl import flags

from cmlm_tf.commands import cli
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures.redraw import redraw_all
from cmlm_tf.evaluation.figures.run import measure_figures

_FIGURES = flags.DEFINE_list("figures", ["all"], "Which, with commas, or all.")
_OUTPUT_DIR = flags.DEFINE_string("output_dir", "figures", "The results.")
_REDRAW = flags.DEFINE_bool("redraw", False, "Only draw what lies in output_dir.")
_PAGE = flags.DEFINE_string(
    "page", None, "Of --redraw: all models side by side; findings.md if not given."
)
_LABEL = flags.DEFINE_string("label", "", "Title of the plots.")
_STUDENT = flags.DEFINE_string("student", "", "Model directory.")
_TEACHER = flags.DEFINE_string("teacher", "", "Model directory.")
_DEV = flags.DEFINE_string("dev", "", "Corpus, as in bin/train_subword.py --help.")
_TEST = flags.DEFINE_string("test", "", "Corpus.")
_MAX_LINES = flags.DEFINE_integer(
    "max_lines", None, "Of each corpus the first lines.", lower_bound=1
)
_TIME_BUDGET = flags.DEFINE_float(
    "time_budget", float("inf"), "No new point so many seconds after the start."
)
_SENTENCES_PER_BATCH = flags.DEFINE_integer(
    "sentences_per_batch", 256, "Most sentences decoded side by side.", lower_bound=1
)
_XLA = flags.DEFINE_bool("xla", None, "As of bin/decode.py.")


#: What --redraw does not need.
_OF_MEASURING = (
    *(_FIGURES, _LABEL, _STUDENT, _TEACHER, _DEV, _TEST, _MAX_LINES, _TIME_BUDGET),
    *(_SENTENCES_PER_BATCH, _XLA),
)


def main(_) -> None:
    """Measures or redraws, and prints the figures' JSON files or what was drawn."""
    if _PAGE.present and not _REDRAW.value:
        raise UserError("--page needs --redraw")
    if _REDRAW.value:
        for flag in _OF_MEASURING:
            if flag.present:
                raise UserError(f"--{flag.name} does nothing with --redraw")
        paths = redraw_all(_OUTPUT_DIR.value, _PAGE.value)
    else:
        paths = measure_figures(
            *(_FIGURES.value, _OUTPUT_DIR.value, _LABEL.value),
            *(_STUDENT.value, _TEACHER.value, _DEV.value, _TEST.value),
            most_lines=_MAX_LINES.value,
            deadline=cli.STARTED + _TIME_BUDGET.value,
            sentences_per_batch=_SENTENCES_PER_BATCH.value,
            xla=_XLA.value,
        )
    print(*paths, sep="\n")


run = functools.partial(cli.run, main)
