"""What is written: figures as JSON, and tables, plots and findings made of it."""

import json
import os
import re
import urllib.parse
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.paper_figures.claims import Results, findings
from benchmarks.paper_figures.draw import draw
from benchmarks.paper_figures.measure import FIGURES
from benchmarks.paper_figures.points import Workbench
from cmlm_tf.errors import UserError
from cmlm_tf.evaluation.plots import label
from cmlm_tf.utils.files import atomic_write
from cmlm_tf.utils.json_files import read_json

_SUFFIXES = (".png", ".svg")
_HEAD = """# Findings

Which claims of Kreutzer et al. (2020) hold for the models at hand. A claim that fails
is a finding, not a failure. BLEU is compared at equal speed, interpolated between the
settings measured. A claim is *not decided* where the difference lies within its 95 %
interval (±), that of a paired bootstrap. `docs/figures.md` tells how each is judged,
and how to measure and write this page. b is the length beam where a figure says nothing
else.
"""
#: Fields of a figure that its table or its JSON file alone tells.
_NOT_NOTED = ("rows", "label", "figure")


def measure_figures(
    folder: Path, names: Sequence[str], title: str, bench: Workbench
) -> list[Path]:
    """Measures figures into a folder, and returns the JSON files.

    Each gets `NAME.json`, `.md`, `.png` and `.svg`, and all together `claims.md`.
    Points that are in the workbench's cache are used again.
    """
    texts = {"dev": bench.dev, "test": bench.test}
    lines = {name: len(text.sources) for name, text in texts.items() if text.sources}
    for name in names:
        head = {"figure": name, "label": title, "lines": lines}
        result = head | FIGURES[name](bench)
        text = json.dumps(result, indent=1, ensure_ascii=False)
        _write(folder / f"{name}.json", text + "\n")
        redraw(folder, [name])
    return [folder / f"{name}.json" for name in names]


def read_figures(folder: Path) -> Results:
    """Reads the figures of a folder by their names, in the order of `FIGURES`."""
    paths = {name: folder / f"{name}.json" for name in FIGURES}
    return {name: read_json(path) for name, path in paths.items() if path.exists()}


def redraw(folder: Path, names: Collection[str]) -> list[Path]:
    """Writes tables and plots of some figures of a folder, and all claims."""
    results = read_figures(folder)
    written = []
    for name in (name for name in results if name in names):
        for suffix in _SUFFIXES:
            draw([results[name]], folder / f"{name}{suffix}")
        _write(folder / f"{name}.md", figure_page(results[name]))
        written += [folder / f"{name}{suffix}" for suffix in (*_SUFFIXES, ".md")]
    _write(folder / "claims.md", markdown_table(findings(results)))
    return [*written, folder / "claims.md"]


def redraw_all(folder: Path, page: Path) -> list[Path]:
    """Draws all figures in a folder and below, and a page with all models.

    Returns:
        The files that were written; `tradeoff_all.png` and `.svg` show all trade-offs.

    Raises:
        UserError: there is no figure, or the page is no Markdown file.
    """
    if page.suffix != ".md":
        raise UserError(f"{page}: the page's name must end in .md")
    parents = {p.parent for name in FIGURES for p in folder.rglob(f"{name}.json")}
    if not parents:
        raise UserError(f"{folder}: no figure in it")
    models = {parent: read_figures(parent) for parent in sorted(parents)}
    written = [path for parent in models for path in redraw(parent, FIGURES)]
    _write(page, findings_page(models, page))
    tradeoffs = [r["tradeoff"] for r in models.values() if "tradeoff" in r]
    for suffix in _SUFFIXES if tradeoffs else ():
        draw(tradeoffs, folder / f"tradeoff_all{suffix}")
        written.append(folder / f"tradeoff_all{suffix}")
    return [*written, page]


def findings_page(models: Mapping[Path, Results], page: Path) -> str:
    """Renders all models, by their folders, side by side; links lead from the page."""
    firsts = {
        parent: next(iter(results.values())) for parent, results in models.items()
    }
    titles = {parent: escaped(first["label"]) for parent, first in firsts.items()}
    heads = [_measured_on(titles[parent], models[parent]) for parent in models]
    found = pd.concat(
        findings(results).assign(model=titles[parent])
        for parent, results in models.items()
    )
    found.figure = found.figure.map(label)
    parts = [_HEAD, markdown_table(pd.DataFrame(heads)), side_by_side(found, "here")]
    found.numbers = "**" + found.here + "**: " + found.numbers
    parts += ["## Numbers\n", side_by_side(found, "numbers")]
    for name in FIGURES:
        shown = [parent for parent in models if name in models[parent]]
        parts += [f"## {label(name)}\n"] if shown else []
        for parent in shown:
            file = os.path.relpath(parent / name, page.parent)
            link = urllib.parse.quote(os.fsencode(Path(file).as_posix()))
            parts.append(f"![{label(name)} of {titles[parent]}]({link}.png)\n")
            parts.append(f"{titles[parent]}: [numbers]({link}.md)\n")
    return "\n".join(parts)


def _measured_on(title: str, results: Results) -> dict[str, Any]:
    lines: dict[str, int] = {}
    beam: int | str = "unknown"
    for result in results.values():
        lines |= result["lines"]
        beam = result.get("length_beam", beam)
    counts = {f"lines of {name}": lines.get(name, "none") for name in ("test", "dev")}
    return {"model": title, **counts, "b": beam}


def side_by_side(found: pd.DataFrame, column: str) -> str:
    """Renders findings, a claim a row and a `model` a column."""
    keys = ["claim", "figure"]
    models, order = found.model.unique(), found[keys].drop_duplicates()
    table = found.pivot(index=keys, columns="model", values=column)
    table = table.reindex(pd.MultiIndex.from_frame(order))[models]
    return markdown_table(table.fillna("not measured").reset_index())


def figure_page(result: dict[str, Any]) -> str:
    """Renders a figure's rows as a table without lists, and what stands beside them."""
    frame = pd.DataFrame(result["rows"]).drop(
        columns=["resampled", "bins"], errors="ignore"
    )
    others = {k: v for k, v in result.items() if k not in _NOT_NOTED}
    if others.get("temperature") == 1.0:
        others["temperature"] = "1, as fitted on dev: probabilities stay as they are"
    notes = [f"- {k.replace('_', ' ')}: {_note(v)}" for k, v in others.items()]
    table = [] if frame.empty else [markdown_table(frame)]
    return "\n".join([escaped(result["label"]), "", *table, *notes]) + "\n"


def markdown_table(frame: pd.DataFrame) -> str:
    """Renders a table, not aligned as plain text; numbers are set on the right."""
    rule = (":--" if frame[name].dtype.kind in "OUT" else "--:" for name in frame)
    rows: Iterable[Sequence[Any]] = [list(frame), *frame.itertuples(index=False)]
    head, *body = (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    return "\n".join([head, f"|{'|'.join(rule)}|", *body]) + "\n"


def escaped(text: str) -> str:
    r"""Returns Markdown that reads as the text.

    >>> print(escaped("*a* | b < c, en-de"))
    \*a\* \| b \< c, en-de
    """
    return re.sub(r"([\\`*_|<>\[\]~#&$])", r"\\\1", text)


def _note(value: Any) -> str:
    """Spells a value, or a dict of values or dicts."""
    if not isinstance(value, dict):
        return _cell(value)
    return ", ".join(
        f"{label(name)} ({_note(inner)})"
        if isinstance(inner, dict)
        else f"{label(name)} {_cell(inner)}"
        for name, inner in value.items()
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
    return str(value)


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text, "utf-8")
