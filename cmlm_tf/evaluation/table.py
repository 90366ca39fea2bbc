"""The quality-speed table as aligned Markdown and as JSON."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class QualitySpeedRow:
    """One system at one setting on one test set; None where not measured.

    Attributes:
        system: the teacher or the heuristic.
        setting: what controls its speed, as in "tau=0.5".
        bleu: SacreBLEU.
        bleu_ci: half the width of BLEU's 95 % interval.
        chrf: chrF2.
        tokens_per_iteration: by each sentence's slowest length candidate.
        tokens_per_iteration_selected: by the chosen candidate.
        tokens_per_iteration_summed: by all candidates together.
        sentences_per_second: wall-clock speed.
    """

    system: str
    setting: str
    bleu: float
    bleu_ci: float | None = None
    chrf: float | None = None
    tokens_per_iteration: float | None = None
    tokens_per_iteration_selected: float | None = None
    tokens_per_iteration_summed: float | None = None
    sentences_per_second: float | None = None


_HEADINGS = {
    "system": "system",
    "setting": "setting",
    "bleu": "BLEU",
    "bleu_ci": "±",
    "chrf": "chrF",
    "tokens_per_iteration": "tokens/iteration",
    "tokens_per_iteration_selected": "selected",
    "tokens_per_iteration_summed": "summed",
    "sentences_per_second": "sentences/s",
}


def format_table(rows: Sequence[QualitySpeedRow]) -> str:
    """Renders rows as a Markdown table that is aligned as plain text too.

    A column in which no row has a value is left out.

    >>> print(format_table([QualitySpeedRow("thresh", "tau=0.5", bleu=27.125)]))
    | system | setting |  BLEU |
    |:-------|:--------|------:|
    | thresh | tau=0.5 | 27.12 |
    """
    columns = [
        _column(heading, [getattr(row, field) for row in rows])
        for field, heading in _HEADINGS.items()
        if any(getattr(row, field) is not None for row in rows)
    ]
    lines = zip(*columns, strict=True)
    return "\n".join("|" + "|".join(cells) + "|" for cells in lines)


def _column(heading: str, values: Sequence[str | float | None]) -> list[str]:
    """Returns heading, rule and cells of one width: words left, numbers right."""
    is_text = isinstance(values[0], str)
    cells = [heading, *map(_cell, values)]
    width = max(map(len, cells))
    align = str.ljust if is_text else str.rjust
    padded = [f" {align(cell, width)} " for cell in cells]
    dashes = "-" * (width + 1)
    rule = f":{dashes}" if is_text else f"{dashes}:"
    return [padded[0], rule, *padded[1:]]


def _cell(value: str | float | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.2f}"
