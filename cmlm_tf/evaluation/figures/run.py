"""Measures figures, and writes each as JSON, table and plot."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures import measure, measure_model
from cmlm_tf.evaluation.figures.claims import as_markdown, findings, side_by_side
from cmlm_tf.evaluation.figures.draw import draw, draw_tradeoffs
from cmlm_tf.evaluation.figures.points import PointStore
from cmlm_tf.evaluation.figures.workbench import Workbench, read_split
from cmlm_tf.evaluation.table import markdown_table
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
_SUFFIXES = (".png", ".svg")


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
    time_budget: float | None = None,
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
        time_budget: seconds after which no new point is begun.
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
    for name, value in (("student", student_dir), ("teacher", teacher_dir)):
        if not value:
            raise UserError(f"--{name} is needed: a model directory")
    folder = Path(output_dir)
    store = PointStore(folder / _POINTS, time_budget)
    splits = (read_split(n, c, most_lines) for n, c in (("dev", dev), ("test", test)))
    bench = Workbench(store, student_dir, teacher_dir, *splits, **kwargs)
    paths = []
    for name in chosen:
        lines = {split.name: len(split.sources) for split in (bench.dev, bench.test)}
        head = {"figure": name, "label": label, "lines": lines}
        path = folder / f"{name}.json"
        with atomic_write(path) as temporary:
            text = json.dumps(head | FIGURES[name](bench), indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", "utf-8")
        redraw(path)
        write_claims(folder)
        paths.append(path)
    return paths


def redraw_all(folder: str | os.PathLike[str]) -> list[Path]:
    """Makes tables and plots anew from all figures in a folder and below.

    `findings.md` in the folder itself puts the claims of all models side by side, and
    `tradeoff_all.png` and `.svg` their trade-offs.

    Returns:
        Their JSON files.

    Raises:
        UserError: there is none, or one is damaged.
    """
    paths = [p for n in FIGURES for p in sorted(Path(folder).rglob(f"{n}.json"))]
    if not paths:
        raise UserError(f"{folder}: no figure in it")
    for path in paths:
        redraw(path)
    models = list(dict.fromkeys(path.parent for path in paths))
    for parent in models:
        write_claims(parent)
    _compare([_results(parent) for parent in models], Path(folder))
    return paths


def _compare(models: Sequence[dict[str, dict[str, Any]]], folder: Path) -> None:
    """Writes what shows all models side by side."""
    labels = [next(iter(results.values()))["label"] for results in models]
    found = {
        label: findings(results) for label, results in zip(labels, models, strict=True)
    }
    with atomic_write(folder / "findings.md") as temporary:
        temporary.write_text(side_by_side(found), "utf-8")
    tradeoffs = [results["tradeoff"] for results in models if "tradeoff" in results]
    if tradeoffs:
        for suffix in _SUFFIXES:
            draw_tradeoffs(tradeoffs, folder / f"tradeoff_all{suffix}")


def redraw(path: Path) -> None:
    """Writes table and plot beside a figure's JSON."""
    try:
        result = json.loads(path.read_text("utf-8"))
        table = markdown(result)
        for suffix in _SUFFIXES:
            draw(result, path.with_suffix(suffix))
    except (ValueError, LookupError, TypeError, StopIteration) as error:
        raise UserError(f"{path}: not a figure: {error!r}") from error
    with atomic_write(path.with_suffix(".md")) as temporary:
        temporary.write_text(table, "utf-8")


def write_claims(folder: Path) -> None:
    """Writes `claims.md`: the paper's claims as the folder's figures show them."""
    with atomic_write(folder / "claims.md") as temporary:
        temporary.write_text(as_markdown(findings(_results(folder))), "utf-8")


def _results(folder: Path) -> dict[str, dict[str, Any]]:
    """Reads the figures of one model."""
    return {
        name: json.loads((folder / f"{name}.json").read_text("utf-8"))
        for name in FIGURES
        if (folder / f"{name}.json").exists()
    }


def markdown(result: dict[str, Any]) -> str:
    """Renders a figure's rows as a Markdown table, and what stands beside them.

    >>> print(markdown({"label": "en-de", "rows": [{"system": "thresh", "bleu": 3.0}]}))
    en-de
    <BLANKLINE>
    | system | bleu |
    |:--|--:|
    | thresh | 3.00 |
    <BLANKLINE>

    Args:
        result: `label`, `rows` of equal fields, and more. Lists are left out.
    """
    first = result["rows"][0]
    names = [name for name, value in first.items() if not isinstance(value, list)]
    numbers = {name for name in names if not isinstance(first[name], str)}
    rows = ([_cell(row[name]) for name in names] for row in result["rows"])
    table = markdown_table(names, rows, numbers)
    others = {k: v for k, v in result.items() if k not in ("rows", "label", "figure")}
    notes = [f"{name}: {json.dumps(value)}" for name, value in others.items()]
    return "\n".join([result["label"], "", table, "", *notes])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
    return str(value)
