"""BLEU against speed, one line for each heuristic."""

import collections
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cmlm_tf.evaluation.table import QualitySpeedRow
from cmlm_tf.utils.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, told apart by colour-blind readers, each with its own
#: marker for print without colour.
STYLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)

#: What holds the date or version in each kind of file that can be drawn, by suffix.
STAMPS = {".svg": "Date", ".png": "Software", ".pdf": "CreationDate"}

RC_PARAMS = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "cmlm_tf",
    # A dollar sign in a label is one.
    "text.parse_math": False,
}


def plot_quality_speed(
    rows: Sequence[QualitySpeedRow],
    teacher_bleu: float,
    paths: Sequence[str | os.PathLike[str]],
) -> None:
    """Draws BLEU over tokens per iteration, as in the paper's section 4.2.

    Args:
        rows: the student's, with their speeds; a heuristic's rows are joined by a
            line from slow to fast.
        teacher_bleu: BLEU of the autoregressive teacher, drawn as the top
            border unless a student lies above it.
        paths: the files to write, by suffix (.png, .svg, .pdf). Equal rows
            give equal files.
    """
    import matplotlib

    with matplotlib.rc_context(RC_PARAMS):
        for path in paths:
            # Saving moves a figure's layout, so each file gets its own.
            save(_draw(rows, teacher_bleu), path)


def _draw(rows: Sequence[QualitySpeedRow], teacher_bleu: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    points = collections.defaultdict(list)
    for row in rows:
        points[row.system].append((row.tokens_per_iteration, row.bleu))
    for (system, line), style in zip(
        points.items(), itertools.cycle(STYLES), strict=False
    ):
        speed, bleu = zip(*sorted(line), strict=True)
        color, marker = style
        axes.plot(speed, bleu, color=color, marker=marker, label=label(system))
    best_student = axes.dataLim.y1
    border = axes.axhline(teacher_bleu, color="black", linestyle="--", clip_on=False)
    border.set_label("teacher, beam 5")
    if best_student <= teacher_bleu:
        axes.set_ylim(top=teacher_bleu)
    axes.set_xlabel("speed (tokens per iteration)")
    axes.set_ylabel("quality (SacreBLEU)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6)
    axes.legend(loc="best", frameon=False)
    return figure


def label(system: str) -> str:
    """Spells a name as the paper does.

    >>> label("comb_thresh")
    'comb-thresh'
    """
    return system.replace("_", "-")


def save(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Writes a figure; equal figures give equal files."""
    # A date or a version inside the file would make equal plots differ.
    stamp = STAMPS[Path(path).suffix]
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=200, metadata={stamp: None})
