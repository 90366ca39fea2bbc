"""Figures and findings as Markdown."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmlm_tf.evaluation.figures.claims import Finding
from cmlm_tf.evaluation.plots import label
from cmlm_tf.evaluation.table import markdown_table

_HEAD = """# Findings

Which claims of Kreutzer et al. (2020) hold for the models at hand. A claim that fails
is a finding, not a failure. BLEU is compared at equal speed. A claim is *not decided*
where the difference lies within its 95 % interval (±), that of a paired bootstrap
where points keep resamples. `docs/figures.md` tells how each is judged, and how to
measure and write this page.
"""


def as_markdown(found: Sequence[Finding]) -> str:
    """Renders findings as a table.

    >>> print(as_markdown([Finding("a is b", "holds", "1 < 2", "tradeoff")]))
    | claim | here | numbers | figure |
    |:--|:--|:--|:--|
    | a is b | holds | 1 < 2 | tradeoff |
    <BLANKLINE>
    """
    return markdown_table(["claim", "here", "numbers", "figure"], found) + "\n"


def findings_page(
    models: Mapping[str, Path],
    found: Mapping[str, Sequence[Finding]],
    figures: Sequence[str],
    path: Path,
) -> str:
    """Renders the page that puts all models side by side.

    Args:
        models: the folder of figures by the name of model and text.
        found: the findings by the same names.
        figures: the names of figures, in their order on the page.
        path: where the page will stand: links to plots lead from there.
    """
    parts = [_HEAD, side_by_side(found)]
    for name in figures:
        plots = {
            model: folder / f"{name}.png"
            for model, folder in models.items()
            if (folder / f"{name}.json").exists()
        }
        if plots:
            parts.append(f"## {label(name)}\n")
        for model, plot in plots.items():
            link = Path(os.path.relpath(plot, path.parent)).as_posix()
            table = Path(link).with_suffix(".md").as_posix()
            parts.append(f"![{label(name)} of {model}]({link})\n")
            parts.append(f"{model}: [numbers]({table})\n")
    return "\n".join(parts)


def side_by_side(models: Mapping[str, Sequence[Finding]]) -> str:
    """Renders the findings of several models as one table, a claim a row.

    >>> print(side_by_side({
    ...     "small": [Finding("a is b", "holds", "1 < 2", "tradeoff")],
    ...     "large": [],
    ... }))
    | claim | figure | small | large |
    |:--|:--|:--|:--|
    | a is b | tradeoff | **holds**: 1 < 2 | not measured |
    <BLANKLINE>

    Args:
        models: findings by the name of the model and its text.
    """
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for model, found in models.items():
        for finding in found:
            row = cells.setdefault((finding.claim, label(finding.figure)), {})
            row[model] = f"**{finding.verdict}**: {finding.numbers}"
    rows = (
        [*head, *(row.get(model, "not measured") for model in models)]
        for head, row in cells.items()
    )
    return markdown_table(["claim", "figure", *models], rows) + "\n"


def figure_page(result: dict[str, Any]) -> str:
    """Renders a figure's rows as a table, and what stands beside them.

    >>> print(figure_page({
    ...     "label": "en-de",
    ...     "rows": [{"system": "thresh", "bleu": 3.0}],
    ...     "errors": {"thresh": {"mean": 0.25, "largest": 1.0}},
    ... }))
    en-de
    <BLANKLINE>
    | system | bleu |
    |:--|--:|
    | thresh | 3.00 |
    <BLANKLINE>
    - errors: thresh (mean 0.25, largest 1.00)
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
    if others.get("temperature") == 1.0:
        others["temperature"] = "1, as fitted on dev: probabilities stay as they are"
    notes = [f"- {k.replace('_', ' ')}: {_note(v)}" for k, v in others.items()]
    return "\n".join([result["label"], "", table, "", *notes]) + "\n"


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
