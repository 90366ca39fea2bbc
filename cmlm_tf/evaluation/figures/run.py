"""Measures figures, and writes each as JSON, table and plot."""

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import measure, measure_model
from cmlm_tf.evaluation.figures.points import PointStore
from cmlm_tf.evaluation.figures.redraw import redraw, write_claims
from cmlm_tf.evaluation.figures.workbench import Workbench, read_split
from cmlm_tf.files import atomic_write

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
        teacher_dir: model directory of its teacher.
        dev: corpus as `open_corpus` reads it.
        test: likewise.
        most_lines: of each corpus only so many first lines.
        deadline: the reading of `time.monotonic` after which no new point is begun.
        **kwargs: for `load_translator`.

    Returns:
        The JSON files.

    Raises:
        UserError: an unknown figure, models that are none, or the time is up; all
            points and figures that were finished are kept.
    """
    chosen = [name for name in FIGURES if name in names or "all" in names]
    if unknown := set(names) - {*FIGURES, "all"}:
        raise UserError(
            f"figures: {', '.join(sorted(unknown))}: not among all, "
            + ", ".join(FIGURES)
        )
    for name, value, what in (
        ("student", student_dir, "model directory"),
        ("teacher", teacher_dir, "model directory"),
        ("dev", dev, "corpus"),
        ("test", test, "corpus"),
    ):
        if not value:
            raise UserError(f"--{name} is needed: a {what}")
    if math.isnan(deadline):
        raise UserError("--time_budget must be a number")
    folder = Path(output_dir)
    store = PointStore(folder / _POINTS, deadline)
    splits = (read_split(n, c, most_lines) for n, c in (("dev", dev), ("test", test)))
    bench = Workbench(store, student_dir, teacher_dir, *splits, **kwargs)
    paths = []
    for name in chosen:
        store.begin(name)
        result = FIGURES[name](bench)
        lines = {split.name: len(split.sources) for split in (bench.dev, bench.test)}
        head = {"figure": name, "label": label, "lines": lines}
        path = folder / f"{name}.json"
        with atomic_write(path) as temporary:
            text = json.dumps(head | result, indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", "utf-8")
        redraw(path)
        paths.append(path)
    write_claims(folder)
    return paths
