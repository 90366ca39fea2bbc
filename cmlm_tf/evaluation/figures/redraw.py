"""Tables, plots, claims and the page of findings, from the JSON files of figures."""

import collections
import os
from collections.abc import Mapping
from pathlib import Path

from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.figures.claims import findings
from cmlm_tf.evaluation.figures.compare import Results
from cmlm_tf.evaluation.figures.draw import DRAWINGS, draw, draw_tradeoffs
from cmlm_tf.evaluation.figures.figure_files import read_figures
from cmlm_tf.evaluation.figures.page import (
    TITLE,
    Model,
    as_markdown,
    figure_page,
    findings_page,
)
from cmlm_tf.utils.files import atomic_write, errors_named

_SUFFIXES = (".png", ".svg")


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
        The files that were written.

    Raises:
        UserError: there is no figure, one is damaged, a folder has those of two
            models, or the page would take the place of something else; nothing is
            written then.
    """
    page = Path(page or Path(folder) / "findings.md")
    _check_page(page)
    found = [p for n in DRAWINGS for p in sorted(Path(folder).rglob(f"{n}.json"))]
    if not found:
        raise UserError(f"{folder}: no figure in it")
    parents = dict.fromkeys(path.parent for path in found)
    models = {parent: read_figures(parent) for parent in parents}
    written = []
    for parent, results in models.items():
        for name in results:
            written += redraw(parent, results, name)
        written.append(write_claims(parent, results))
    return written + _compare(models, Path(folder), page)


def _check_page(page: Path) -> None:
    """Checks that a path is free for the page, or has an earlier one."""
    if page.suffix != ".md":
        raise UserError(f"{page}: the page's name must end in .md")
    if page.exists():
        with errors_named(page), page.open(encoding="utf-8", errors="replace") as file:
            if file.readline().strip() != TITLE:
                raise UserError(f"{page}: is no page of findings; not overwritten")


def redraw(folder: Path, results: Results, name: str) -> list[Path]:
    """Writes table and plots of a figure.

    Args:
        folder: gets them.
        results: has the figure.
        name: the figure's.

    Returns:
        The files.
    """
    paths = [folder / f"{name}{suffix}" for suffix in _SUFFIXES]
    for path in paths:
        draw(results[name], path)
    table = folder / f"{name}.md"
    _write(table, figure_page(results[name]))
    return [*paths, table]


def write_claims(folder: Path, results: Results) -> Path:
    """Writes `claims.md`: the paper's claims as a model's figures show them.

    Returns:
        The file.
    """
    path = folder / "claims.md"
    _write(path, as_markdown(findings(results)))
    return path


def _compare(models: Mapping[Path, Results], folder: Path, page: Path) -> list[Path]:
    """Writes what shows all models side by side, and returns the files."""
    names = _names(models, folder)
    shown = [
        Model(names[parent], parent, results, findings(results))
        for parent, results in models.items()
    ]
    _write(page, findings_page(shown, list(DRAWINGS), page))
    tradeoffs = [
        model.results["tradeoff"] | {"label": model.name}
        for model in shown
        if "tradeoff" in model.results
    ]
    paths = [folder / f"tradeoff_all{suffix}" for suffix in _SUFFIXES if tradeoffs]
    for path in paths:
        draw_tradeoffs(tradeoffs, path)
    return [page, *paths]


def _names(models: Mapping[Path, Results], folder: Path) -> dict[Path, str]:
    """Names models by their labels, and by their folders where labels are equal."""
    labels = {
        parent: next(iter(results.values()))["label"]
        for parent, results in models.items()
    }
    counts = collections.Counter(labels.values())
    return {
        parent: f"{label} ({_spelled(parent.relative_to(folder))})"
        if counts[label] > 1
        else label
        for parent, label in labels.items()
    }


def _spelled(path: Path) -> str:
    """Spells a path; bytes that are not UTF-8 become a replacement sign."""
    return os.fsencode(path).decode("utf-8", "replace")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text, "utf-8")
