"""Draws the figures from their rows, legible in print and for the colour-blind."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.paper_figures.measure import BIN_WIDTH
from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.evaluation.plots import RC_PARAMS, STYLES, label, save

Result = dict[str, Any]

_SPEED = "speed (tokens per iteration)"
_BLEU = "quality (SacreBLEU)"
#: Of a bin of lengths that is drawn, if there is such a bin.
_FEWEST_SENTENCES = 5
#: Of bins of lengths; of more, some ticks stay without.
_MOST_LABELS = 14
#: Of all groups of predictions, and the fewest that make a point.
_SHOWN_GROUPS = ("all", "rank 1", "ranks 9 to 16")
_FEWEST = 20


def draw(results: Sequence[Result], path: str | os.PathLike[str]) -> None:
    """Draws a figure, of several models side by side; equal results, equal files."""
    columns = min(len(results), 2)
    rows = -(-len(results) // columns)
    size = (6.0, 4.0) if len(results) == 1 else (5.0 * columns, 3.6 * rows)
    with matplotlib.rc_context(RC_PARAMS):
        figure = Figure(figsize=size, layout="constrained")
        for number, result in enumerate(results, start=1):
            axes = figure.add_subplot(rows, columns, number)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_axisbelow(True)
            axes.grid(color="0.9", linewidth=0.6)
            axes.set_title(result["label"], fontsize=9, loc="left")
            if result["rows"]:
                _DRAWINGS[result["figure"]](axes, result, pd.DataFrame(result["rows"]))
            else:
                axes.set_axis_off()
                axes.text(0.5, 0.5, "the text allows none of the speeds", ha="center")
            if number > 1 and (legend := axes.get_legend()):
                legend.remove()
        save(figure, path)


def _tradeoff(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    axes.set(xlabel=_SPEED, ylabel=_BLEU)
    is_teacher = rows.system == "teacher"
    _bands(axes, rows[~is_teacher], "slowest")
    teacher = rows[is_teacher].set_index("setting").bleu
    for setting, line in (("beam 5", "--"), ("greedy", ":")):
        name = f"teacher, {setting}"
        axes.axhline(teacher[setting], color="black", linestyle=line, label=name)
    # The teacher's beam is the top border, as in the paper, unless a student is
    # above it; a little room lets its line be seen.
    low, high = rows.bleu.min(), rows.bleu.max()
    axes.set_ylim(top=high + 0.05 * (high - low))
    axes.legend(frameon=False, loc="lower left")


def _strategies(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    axes.set(xlabel="length beam b (candidates)", ylabel=_BLEU)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _bands(axes, rows, "length_beam")
    axes.legend(frameon=False, title=f"mask-predict, T={result['iterations']}")


def _passes(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    axes.set(xlabel="passes", ylabel="SacreBLEU of the filled-in sequences")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    slow = rows.target.min()
    for (system, target), part in rows.groupby(["system", "target"], sort=False):
        style = _style(system) | {"linestyle": "-" if target == slow else ":"}
        name = f"{label(system)}:{part.speed.iloc[0]:.1f}"
        axes.plot(part.iteration, part.bleu, label=name, **style)
    axes.legend(frameon=False, title="tokens per iteration")


def _lengths(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    name = "reference length in subwords (between ticks a bin, systems side by side)"
    axes.set(xlabel=name, ylabel="passes (mean, standard deviation)")
    # A bin of few sentences is left to the table: one could stretch the axis.
    shown = rows[rows["count"] >= _FEWEST_SENTENCES]
    shown = rows if shown.empty else shown
    systems = shown.groupby("system", sort=False)
    for number, (system, part) in enumerate(systems, start=1):
        # Side by side, so that error bars do not hide each other.
        x = part.first_length + (BIN_WIDTH * number / (len(systems) + 1) - 0.5)
        speed = result["speeds"][system]["speed"]
        name = f"{label(system)}, {part.setting.iloc[0]} ({speed:.1f})"
        style = _style(system) | {"elinewidth": 0.8, "capsize": 2}
        axes.errorbar(x, part["mean"], part["std"], fmt="", label=name, **style)
    first, last = shown.first_length.min(), shown.first_length.max() + BIN_WIDTH
    edges = range(first, last + 1, BIN_WIDTH)
    step = len(edges) // _MOST_LABELS + 1
    names = ["" if i % step else str(edge) for i, edge in enumerate(edges)]
    axes.set_xticks([edge - 0.5 for edge in edges], names)
    axes.set_xlim(first - 0.5, last - 0.5)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, title="setting (tokens per iteration)")


def _scatter(x_name: str, y_name: str) -> Callable[..., None]:
    """Returns what draws speeds on test against those on dev."""

    def draw_speeds(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
        axes.set(xlabel=f"{x_name} {_SPEED}", ylabel=f"test {_SPEED}")
        most = rows[[x_name, y_name]].max().max()
        axes.plot([0, most], [0, most], color="0.6", linewidth=0.8, label="equal")
        for system, part in rows.groupby("system", sort=False):
            error = result["errors"][system]
            name = f"{label(system)}: error {error['mean']:.2f} on average, "
            name += f"{error['largest']:.2f} at most"
            style = _style(system) | {"linestyle": "none"}
            axes.plot(part[x_name], part[y_name], label=name, **style)
        axes.legend(frameon=False)

    return draw_speeds


def _length_classifier(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    axes.set(xlabel="share of sentences (%)")
    axes.barh(rows.measure[::-1], 100 * rows.share[::-1], color=STYLES[0][0])
    axes.set_xlim(0, 100)


def _probabilities(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    axes.set(xlabel="probability of the best token", ylabel="share of right tokens")
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, label="calibrated")
    for group, (color, marker) in zip(_SHOWN_GROUPS, STYLES, strict=False):
        part = rows[rows.group == group]
        for row, line in zip(part.itertuples(), "-:", strict=False):
            bins = [cells[1:] for cells in row.bins if cells[0] >= _FEWEST]
            name = (
                f"{group}, temperature {row.temperature:g}: ECE {100 * row.ece:.1f} %"
            )
            style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 4}
            x, y = zip(*bins, strict=True) if bins else ((), ())
            axes.plot(x, y, linestyle=line, label=name, **style)
    axes.legend(frameon=False, fontsize=7)


def _temperature(axes: Axes, result: Result, rows: pd.DataFrame) -> None:
    axes.set(xlabel=_SPEED, ylabel=_BLEU)
    groups = rows.groupby(["system", "temperature"], sort=False)
    for (system, value), part in groups:
        part = part.sort_values("slowest")
        style = _style(system) | {"linestyle": "-" if value == 1.0 else ":"}
        name = f"{label(system)}, temperature {value:g}"
        axes.plot(part.slowest, part.bleu, label=name, **style)
    axes.legend(frameon=False)


_DRAWINGS: dict[str, Callable[..., None]] = {
    "tradeoff": _tradeoff,
    "strategies": _strategies,
    "passes": _passes,
    "lengths": _lengths,
    "dev_test": _scatter("dev", "test"),
    "promises": _scatter("promised", "measured"),
    "length_classifier": _length_classifier,
    "probabilities": _probabilities,
    "temperature": _temperature,
}


def _bands(axes: Axes, rows: pd.DataFrame, x_name: str) -> None:
    """Draws BLEU with its 95 % interval, a line for each system."""
    for system, part in rows.groupby("system", sort=False):
        part = part.sort_values(x_name)
        x, style = part[x_name], _style(system)
        axes.plot(x, part.bleu, label=label(system), **style)
        band = part.bleu - part.bleu_ci, part.bleu + part.bleu_ci
        axes.fill_between(x, *band, color=style["color"], alpha=0.12, linewidth=0)


def _style(system: str) -> dict[str, Any]:
    """Returns the look of a system, the same in all figures."""
    names = list(HEURISTICS) if system in HEURISTICS else list(STRATEGIES)
    color, marker = STYLES[names.index(system) % len(STYLES)]
    return {"color": color, "marker": marker, "markersize": 4}
