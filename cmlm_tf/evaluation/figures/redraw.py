"""Tables, plots, claims and the page of findings, from the JSON files of figures."""

import collections
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures.claims import findings
from cmlm_tf.evaluation.figures.draw import DRAWINGS, draw, draw_tradeoffs
from cmlm_tf.evaluation.figures.page import as_markdown, figure_page, findings_page
from cmlm_tf.evaluation.figures.shapes import read_figure
from cmlm_tf.files import atomic_write

_SUFFIXES = (".png", ".svg")
#: What was measured on one model: the content of figures by their name.
Results = dict[str, dict[str, Any]]


def redraw_all(
    folder: str | os.PathLike[str], page: str | os.PathLike[str] | None = None
) -> list[Path]:
    """Makes tables and plots anew from all figures in a folder and below.

    Args:
        folder: holds models' folders, or is one.
        page: gets all models side by side: their claims and plots; or None for
            `findings.md` in the folder. `tradeoff_all.png` and `.svg` in the folder
            show all trade-offs.

    Returns:
        The JSON files of the figures.

    Raises:
        UserError: there is none, or one is damaged.
    """
    paths = [p for n in DRAWINGS for p in sorted(Path(folder).rglob(f"{n}.json"))]
    if not paths:
        raise UserError(f"{folder}: no figure in it")
    for path in paths:
        redraw(path)
    models = {
        parent: write_claims(parent)
        for parent in dict.fromkeys(path.parent for path in paths)
    }
    _compare(models, Path(folder), Path(page or Path(folder) / "findings.md"))
    return paths


def redraw(path: Path) -> None:
    """Writes table and plots beside a figure's JSON."""
    result = read_figure(path)
    for suffix in _SUFFIXES:
        draw(result, path.with_suffix(suffix))
    _write(path.with_suffix(".md"), figure_page(result))


def write_claims(folder: Path) -> Results:
    """Writes `claims.md`: the paper's claims as the folder's figures show them.

    Returns:
        The figures.
    """
    paths = (folder / f"{name}.json" for name in DRAWINGS)
    results = {path.stem: read_figure(path) for path in paths if path.exists()}
    _write(folder / "claims.md", as_markdown(findings(results)))
    return results


def _compare(models: Mapping[Path, Results], folder: Path, page: Path) -> None:
    """Writes what shows all models side by side."""
    names = _names(models, folder)
    found = {names[parent]: findings(results) for parent, results in models.items()}
    parents = {name: parent for parent, name in names.items()}
    _write(page, findings_page(parents, found, list(DRAWINGS), page))
    tradeoffs = [
        results["tradeoff"] | {"label": names[parent]}
        for parent, results in models.items()
        if "tradeoff" in results
    ]
    if tradeoffs:
        for suffix in _SUFFIXES:
            draw_tradeoffs(tradeoffs, folder / f"tradeoff_all{suffix}")


def _names(models: Mapping[Path, Results], folder: Path) -> dict[Path, str]:
    """Names models by their labels, and by their folders where labels are equal."""
    labels = {
        parent: next(iter(results.values()))["label"]
        for parent, results in models.items()
    }
    counts = collections.Counter(labels.values())
    return {
        parent: f"{label} ({parent.relative_to(folder)})"
        if counts[label] > 1
        else label
        for parent, label in labels.items()
    }


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text, "utf-8")
