"""Draws the two pictures of README.md into docs/images.

tradeoff.png shows results/figures/en_de_base/tradeoff.json; unmasking.png shows how
the package's student unmasks one sentence.

Example:
  python docs/pictures.py
"""

import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import matplotlib
from matplotlib.figure import Figure

from cmlm_tf.evaluation.plots import save
from cmlm_tf.pretrained import EN_DE_STUDENT
from cmlm_tf.translate.loading import load_translator
from cmlm_tf.translate.options import UnmaskingOptions

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
TRADE_OFF = ROOT / "results" / "figures" / "en_de_base" / "tradeoff.json"
FASTEST = 12.8  # Subwords per pass at the right border.
#: Okabe and Ito's colours, a marker, and where a line's name stands.
STYLES = {
    "fixed_k": ("#D55E00", "s", (8.85, 37.4)),
    "mask_predict": ("#0072B2", "o", (10.95, 35.5)),
    "comb_thresh": ("#CC79A7", "D", (10.6, 33.8)),
    "fcomb_thresh": ("#E69F00", "v", (7.65, 33.45)),
    "thresh": ("#009E73", "^", (6.5, 32.65)),
}
SENTENCE = "Please close the window before you leave the house."
SETTING = 0.5  # The tau of comb_thresh.
NEW, OLD, MASKED = ("#0072B2", "white"), ("#E8F1F8", "black"), ("#F4F4F4", "#909090")


def draw_trade_off(rows: list[dict]) -> Figure:
    """Draws BLEU over subwords per pass, one named line for each heuristic."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    for system, (color, marker, place) in STYLES.items():
        points = sorted(
            (r["slowest"], r["bleu"]) for r in rows if r["system"] == system
        )
        axes.plot(*zip(*points, strict=True), color=color, marker=marker, markersize=4)
        axes.annotate(system, place, color=color)
    for row in rows:
        if row["system"] == "teacher":
            style = "--" if row["setting"] == "beam 5" else ":"
            axes.axhline(row["bleu"], color="0.3", linewidth=1, linestyle=style)
            name = f"teacher, {row['setting']}"
            place = (FASTEST, row["bleu"] + 0.1)
            axes.annotate(name, place, color="0.3", ha="right")
    axes.set(xlim=(0.5, FASTEST), ylim=(31.5, 40.6))
    axes.set(xlabel="subwords per pass", ylabel="BLEU")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.6)
    return figure


def draw_passes(passes: list[list[tuple[str, bool]]]) -> Figure:
    """Draws a row for each pass and a cell for each position.

    Args:
        passes: for each pass the subword of each position, and whether it is
            still masked.
    """
    length = len(passes[0])
    widths = [max(len(row[i][0]) for row in passes) + 1.6 for i in range(length)]
    figure = Figure(figsize=(8.0, 0.36 * (len(passes) + 1)), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    margin = 9.5
    axes.set(xlim=(0, margin + sum(widths)), ylim=(len(passes) + 1, 0))
    axes.axis("off")
    before = [("", True)] * length
    for number, row in enumerate([before, *passes]):
        title = f"pass {number}" if number else "all masked"
        axes.text(0.4, number + 0.5, title, va="center", color="0.3")
        for i, (subword, is_masked) in enumerate(row):
            color, ink = MASKED if is_masked else NEW if before[i][1] else OLD
            x, width = margin + sum(widths[:i]), widths[i]
            box = (x + 0.12, number + 0.1), width - 0.24, 0.8
            axes.add_patch(matplotlib.patches.Rectangle(*box, color=color))
            axes.text(
                *(x + width / 2, number + 0.52, subword),
                ha="center",
                va="center",
                color=ink,
                style="italic" if is_masked else "normal",
            )
        before = row
    return figure


def passes_of(sentence: str) -> list[list[tuple[str, bool]]]:
    """Translates a sentence; returns the passes of the best length candidate."""
    translator = load_translator(EN_DE_STUDENT)
    options = UnmaskingOptions("comb_thresh", SETTING, trace=True)
    best = translator.translate([sentence], options)[0].candidates[0][0]
    print(best.text)
    return [
        [
            (piece.replace("▁", ""), is_masked)
            for piece, is_masked in zip(
                translator.subwords.pieces(state["token_ids"]),
                state["mask"],
                strict=True,
            )
        ]
        for state in best.passes
    ]


def main() -> None:
    """Draws both."""
    matplotlib.rcParams["font.size"] = 9
    rows = json.loads(TRADE_OFF.read_text("utf-8"))["rows"]
    save(draw_trade_off(rows), IMAGES / "tradeoff.png")
    save(draw_passes(passes_of(SENTENCE)), IMAGES / "unmasking.png")


if __name__ == "__main__":
    main()
