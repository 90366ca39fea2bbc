"""Figures and findings as Markdown."""

import os
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cmlm_tf.evaluation.figures.claims import Finding
from cmlm_tf.evaluation.figures.compare import Results
from cmlm_tf.evaluation.plots import label
from cmlm_tf.evaluation.table import markdown_table

#: First line of the page of findings.
TITLE = "# Findings"

_HEAD = f"""{TITLE}

Which claims of Kreutzer et al. (2020) hold for the models at hand. A claim that fails
is a finding, not a failure. BLEU is compared at equal speed, interpolated between the
settings measured. A claim is *not decided*
where the difference lies within its 95 % interval (±), that of a paired bootstrap
where points keep resamples. `docs/figures.md` tells how each is judged, and how to
measure and write this page. b is the length beam where a figure says nothing else.
"""
#: The length beam of figures that say nothing of it, unless the model is shorter.
_LENGTH_BEAM = 5


class Model(NamedTuple):
    """What was measured on one model and text.

    Attributes:
        name: of both.
        folder: of the figures.
        results: the figures.
        found: what became of the claims.
    """

    name: str
    folder: Path
    results: Results
    found: Sequence[Finding]


def as_markdown(found: Sequence[Finding]) -> str:
    """Renders findings as a table.

    >>> print(as_markdown([Finding("a is b", "holds", "1 < 2", "tradeoff")]))
    | claim | here | numbers | figure |
    |:--|:--|:--|:--|
    | a is b | holds | 1 < 2 | tradeoff |
    <BLANKLINE>
    """
    return markdown_table(["claim", "here", "numbers", "figure"], found) + "\n"


def findings_page(models: Sequence[Model], figures: Sequence[str], path: Path) -> str:
    """Renders the page that puts all models side by side.

    Args:
        models: one or more.
        figures: the names of figures, in their order on the page.
        path: where the page will stand: links to plots lead from there.
    """
    found = {escaped(model.name): model.found for model in models}
    parts = [_HEAD, _models(models), side_by_side(found, "{0}")]
    parts += ["## Numbers\n", side_by_side(found, "**{0}**: {1}")]
    for name in figures:
        shown = [model for model in models if name in model.results]
        if shown:
            parts.append(f"## {label(name)}\n")
        for model in shown:
            plot = os.path.relpath(model.folder / f"{name}.png", path.parent)
            link = urllib.parse.quote(os.fsencode(Path(plot).as_posix()))
            table = link.removesuffix(".png") + ".md"
            title = escaped(model.name)
            parts.append(f"![{label(name)} of {title}]({link})\n")
            parts.append(f"{title}: [numbers]({table})\n")
    return "\n".join(parts)


def _models(models: Sequence[Model]) -> str:
    """Renders what each model's figures were measured on."""
    rows = []
    for model in models:
        lines: dict[str, int] = {}
        for result in model.results.values():
            lines |= result["lines"]
        counts = (str(lines.get(name, "none")) for name in ("test", "dev"))
        rows.append([escaped(model.name), *counts, _length_beam(model.results)])
    names = ["model", "lines of test", "lines of dev", "b"]
    return markdown_table(names, rows, set(names[1:])) + "\n"


def _length_beam(results: Results) -> str:
    """Returns the length beam where a figure says nothing else.

    Figures of earlier versions lack it; it is 5 where the model has so many lengths,
    of which `strategies` tells.
    """
    for result in results.values():
        if "length_beam" in result:
            return str(result["length_beam"])
    rows = results.get("strategies", {"rows": ()})["rows"]
    widest = max((row["length_beam"] for row in rows), default=0)
    return str(min(_LENGTH_BEAM, widest)) if widest else "unknown"


def escaped(text: str) -> str:
    r"""Returns Markdown that reads as the text.

    >>> print(escaped("*a* | b < c, en-de"))
    \*a\* \| b \< c, en-de
    """
    return re.sub(r"([\\`*_|<>\[\]~#&$])", r"\\\1", text)


def side_by_side(models: Mapping[str, Sequence[Finding]], cell: str) -> str:
    """Renders the findings of several models as one table, a claim a row.

    >>> print(side_by_side({
    ...     "small": [Finding("a is b", "holds", "1 < 2", "tradeoff")],
    ...     "large": [],
    ... }, "**{0}**: {1}"))
    | claim | figure | small | large |
    |:--|:--|:--|:--|
    | a is b | tradeoff | **holds**: 1 < 2 | not measured |
    <BLANKLINE>

    Args:
        models: findings by the name of the model and its text.
        cell: what is told of each; {0} is the verdict, {1} the numbers.
    """
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for model, found in models.items():
        for finding in found:
            row = cells.setdefault((finding.claim, label(finding.figure)), {})
            row[model] = cell.format(finding.verdict, finding.numbers)
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
        result: `label`, `rows` of equal fields, and more. Lists in rows are left out.
    """
    first: dict[str, Any] = next(iter(result["rows"]), {})
    names = [name for name, value in first.items() if not isinstance(value, list)]
    numbers = {name for name in names if not isinstance(first[name], str)}
    rows = ([_cell(row[name]) for name in names] for row in result["rows"])
    table = [markdown_table(names, rows, numbers), ""] if names else []
    others = {k: v for k, v in result.items() if k not in _NOT_NOTED}
    if others.get("temperature") == 1.0:
        others["temperature"] = "1, as fitted on dev: probabilities stay as they are"
    notes = [f"- {k.replace('_', ' ')}: {_note(v)}" for k, v in others.items()]
    return "\n".join([escaped(result["label"]), "", *table, *notes]) + "\n"


#: Fields of a figure that its table or its JSON file alone tells.
_NOT_NOTED = ("rows", "label", "figure", "origin")


def _note(value: Any) -> str:
    """Spells a value, a list of texts, or a dict of values or dicts."""
    if isinstance(value, list):
        return "; ".join(value)
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
