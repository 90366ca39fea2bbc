"""Measures figures, and writes each as JSON, table and plot."""

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import measure, measure_model
from cmlm_tf.evaluation.figures.figure_files import read_figure, read_figures
from cmlm_tf.evaluation.figures.origin import identity
from cmlm_tf.evaluation.figures.points import PointStore
from cmlm_tf.evaluation.figures.redraw import redraw, write_claims
from cmlm_tf.evaluation.figures.shapes import is_plain
from cmlm_tf.evaluation.figures.split import read_split
from cmlm_tf.evaluation.figures.workbench import Workbench
from cmlm_tf.utils.files import atomic_write

#: In the order of a run: what later figures share comes first.
FIGURES: dict[str, Callable[[Workbench], dict[str, Any]]] = {
    "tradeoff": measure.tradeoff,
    "strategies": measure.strategies,
    "passes": measure.passes,
    "lengths": measure.lengths,
    "dev_test": measure.dev_test,
    "promises": measure.promises,
    "length_classifier": measure_model.length_classifier,
    "probabilities": measure_model.probabilities,
    "temperature": measure_model.temperature,
}
#: Those that need a teacher, and those that need a development set.
_OF_TEACHER = ("tradeoff",)
_OF_DEV = ("dev_test", "promises", "probabilities", "temperature")
_POINTS = "points"


def measure_figures(
    names: Sequence[str],
    output_dir: str | os.PathLike[str],
    label: str,
    student_dir: str,
    teacher_dir: str,
    dev: str,
    test: str,
    *,
    most_lines: int | None = None,
    deadline: float = math.inf,
    **kwargs: Any,
) -> list[Path]:
    """Measures figures; what an earlier run finished is used again.

    Args:
        names: keys of `FIGURES`, or `all`.
        output_dir: gets `NAME.json`, `.md`, `.png` and `.svg`, and the points.
        label: names language pair, model and text in the plots.
        student_dir: model directory of the student.
        teacher_dir: model directory of its teacher; empty if no figure needs it.
        dev: corpus as `open_corpus` reads it; empty if no figure needs it.
        test: likewise, always needed.
        most_lines: of each corpus only so many first lines.
        deadline: the reading of `time.monotonic` after which no new point is begun.
        **kwargs: for `load_translator`.

    Returns:
        The JSON files.

    Raises:
        UserError: an unknown figure, models that are none, a folder with figures of
            other models, texts or another label, or the time is up; all points and
            figures that were finished are kept.
    """
    chosen = [name for name in FIGURES if name in names or "all" in names]
    if unknown := set(names) - {*FIGURES, "all"}:
        raise UserError(
            f"figures: {', '.join(sorted(unknown))}: not among all, "
            + ", ".join(FIGURES)
        )
    if not chosen:
        raise UserError("--figures is empty: name some, or all")
    for name, value, what, users in (
        ("student", student_dir, "model directory", chosen),
        ("teacher", teacher_dir, "model directory", _OF_TEACHER),
        ("dev", dev, "corpus", _OF_DEV),
        ("test", test, "corpus", chosen),
    ):
        if not value and (needing := [user for user in chosen if user in users]):
            raise UserError(f"--{name} is needed for {needing[0]}: a {what}")
    if not is_plain(label):
        raise UserError(f"--label: {ascii(label)} must be one line of UTF-8")
    if math.isnan(deadline):
        raise UserError("--time_budget must be a number")
    folder = Path(output_dir)
    store = PointStore(folder / _POINTS, deadline)
    bench = Workbench(
        store,
        student_dir,
        teacher_dir,
        read_split("dev", dev, most_lines) if dev else None,
        read_split("test", test, most_lines),
        **kwargs,
    )
    lines = {name: len(split.sources) for name, split in bench.splits.items()}
    head = {"label": label, "lines": lines, "origin": bench.origin}
    results = read_figures(folder, identity(head))
    paths = []
    for name in chosen:
        store.begin(name)
        result = {"figure": name} | head | FIGURES[name](bench)
        path = folder / f"{name}.json"
        with atomic_write(path) as temporary:
            text = json.dumps(result, indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", "utf-8")
        results[name] = read_figure(path)
        redraw(folder, results, name)
        paths.append(path)
    write_claims(folder, results)
    return paths
