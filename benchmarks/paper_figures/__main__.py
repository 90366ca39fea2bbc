r"""Measures the paper's figures on your models and text: JSON, tables and plots.

Interrupted, the same command continues. docs/figures.md tells more of the figures:
tradeoff, strategies, passes, lengths, dev_test, promises, length_classifier,
probabilities and temperature.

Examples:
  python -m benchmarks.paper_figures --output_dir=results/figures/mine \
      --student=student --teacher=teacher --label="en-de, small" \
      --dev=files:dev.en,dev.de --test=files:test.en,test.de
  python -m benchmarks.paper_figures --redraw --output_dir=results/figures \
      --page=docs/findings.md
"""

from pathlib import Path

from absl import flags

from benchmarks.paper_figures.measure import FIGURES
from benchmarks.paper_figures.page import measure_figures, redraw_all
from benchmarks.paper_figures.points import NO_TEXT, Workbench, read_text
from cmlm_tf.commands import cli
from cmlm_tf.errors import UserError

_FIGURES = flags.DEFINE_list("figures", ["all"], "Which, with commas, or all.")
_OUTPUT_DIR = flags.DEFINE_string("output_dir", "figures", "The results.")
_REDRAW = flags.DEFINE_bool("redraw", False, "Only draw what lies in output_dir.")
_PAGE = flags.DEFINE_string(
    "page", None, "Of --redraw: all models side by side; findings.md if not given."
)
_LABEL = flags.DEFINE_string("label", "", "Title of the plots.")
_STUDENT = flags.DEFINE_string("student", "", "Model directory.")
_TEACHER = flags.DEFINE_string("teacher", "", "Model directory, for tradeoff.")
_DEV = flags.DEFINE_string("dev", "", "Corpus, as in cmlm-train-subword --help.")
_TEST = flags.DEFINE_string("test", "", "Corpus.")
_MAX_LINES = flags.DEFINE_integer(
    "max_lines", None, "Of each corpus the first lines.", lower_bound=1
)
_SENTENCES_PER_BATCH = flags.DEFINE_integer(
    "sentences_per_batch", 256, "Most sentences decoded side by side.", lower_bound=1
)
_XLA = flags.DEFINE_bool("xla", None, "As of cmlm-decode.")

#: Figures that need a teacher, and those that need a development set.
_OF_TEACHER = ("tradeoff",)
_OF_DEV = ("dev_test", "promises", "probabilities", "temperature")


def main(_) -> None:
    """Measures or redraws, and prints the figures' JSON files or what was drawn."""
    folder = Path(_OUTPUT_DIR.value)
    if _REDRAW.value:
        paths = redraw_all(folder, Path(_PAGE.value or folder / "findings.md"))
    else:
        names = _chosen()
        models = {"student": _STUDENT.value, "teacher": _TEACHER.value}
        bench = Workbench(
            folder / "cache",
            {role: path for role, path in models.items() if path},
            read_text(_TEST.value, _MAX_LINES.value),
            read_text(_DEV.value, _MAX_LINES.value) if _DEV.value else NO_TEXT,
            sentences_per_batch=_SENTENCES_PER_BATCH.value,
            xla=_XLA.value,
        )
        paths = measure_figures(folder, names, _LABEL.value, bench)
    print(*paths, sep="\n")


def _chosen() -> list[str]:
    """Returns the figures to measure, those first of which later ones use points."""
    if unknown := set(_FIGURES.value) - {*FIGURES, "all"}:
        names = ", ".join(sorted(unknown))
        raise UserError(f"--figures: {names}: not among all, {', '.join(FIGURES)}")
    given = _FIGURES.value
    chosen = [name for name in FIGURES if name in given or "all" in given]
    for flag, users in (
        *((_STUDENT, chosen), (_TEACHER, _OF_TEACHER)),
        *((_DEV, _OF_DEV), (_TEST, chosen)),
    ):
        if not flag.value and (needing := [name for name in chosen if name in users]):
            raise UserError(f"--{flag.name} is needed for {needing[0]}")
    return chosen


if __name__ == "__main__":
    cli.run(main)
