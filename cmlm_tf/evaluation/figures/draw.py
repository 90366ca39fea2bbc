"""Draws the figures from their rows, legible in print and for the colour-blind."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cmlm_tf.decoding.heuristics import HEURISTICS
from cmlm_tf.decoding.strategies import STRATEGIES
from cmlm_tf.evaluation.figures.measure import BIN_WIDTH
from cmlm_tf.evaluation.plots import SETTINGS, STYLES, label, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
Result = dict[str, Any]

_SPEED = "speed (tokens per iteration)"
_BLEU = "quality (SacreBLEU)"


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Draws one figure; equal results give equal files.

    Args:
        result: what was measured, with its `figure`, a key of `DRAWINGS`, and `label`.
        path: the file to write, by suffix (.png, .svg, .pdf).
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(6.0, 4.0), layout="constrained")
        if result["rows"]:
            DRAWINGS[result["figure"]](figure, result)
        else:
            _nothing(figure)
        figure.axes[0].set_title(result["label"], fontsize=9, loc="left")
        save(figure, path)


def draw_tradeoffs(results: Sequence[Result], path: str | os.PathLike[str]) -> None:
    """Draws the trade-offs of several models side by side, as in the appendix.

    Args:
        results: one or more, each with its `label`.
        path: as of `draw`.
    """
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(len(results), 2)
    rows = -(-len(results) // columns)
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(5.0 * columns, 3.6 * rows), layout="constrained")
        for number, result in enumerate(results, start=1):
            axes = _style_axes(figure.add_subplot(rows, columns, number), _SPEED, _BLEU)
            _draw_tradeoff(axes, result)
            axes.set_title(result["label"], fontsize=9, loc="left")
        figure.axes[0].legend(frameon=False, loc="lower left")
        save(figure, path)


def _nothing(figure: "Figure") -> None:
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.text(0.5, 0.5, "the text allows none of the speeds", ha="center")


def _tradeoff(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, _SPEED, _BLEU)
    _draw_tradeoff(axes, result)
    axes.legend(frameon=False, loc="lower left")


def _draw_tradeoff(axes: "Axes", result: Result) -> None:
    students = [row for row in result["rows"] if row["system"] != "teacher"]
    _bands(axes, students, "slowest")
    teacher = {
        row["setting"]: row["bleu"]
        for row in result["rows"]
        if row["system"] == "teacher"
    }
    for setting, line in (("beam 5", "--"), ("greedy", ":")):
        name = f"teacher, {setting}"
        axes.axhline(teacher[setting], color="black", linestyle=line, label=name)
    # The teacher's beam is the top border, as in the paper, unless a student is
    # above it; a little room lets its line be seen.
    values = [row["bleu"] for row in students] + list(teacher.values())
    axes.set_ylim(top=max(values) + 0.05 * (max(values) - min(values)))


def _strategies(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, "length beam b (candidates)", _BLEU)
    _whole_ticks(axes)
    _bands(axes, result["rows"], "length_beam")
    axes.legend(frameon=False, title=f"mask-predict, T={result['iterations']}")


def _passes(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, "passes", "SacreBLEU of the filled-in sequences")
    _whole_ticks(axes)
    lines = dict(zip(sorted({r["target"] for r in result["rows"]}), "-:", strict=False))
    for (system, target), rows in _grouped(result["rows"], "system", "target"):
        x, y = _columns(rows, "iteration", "bleu")
        name = f"{label(system)}:{rows[0]['speed']:.1f}"
        axes.plot(x, y, label=name, linestyle=lines[target], **_style(system))
    axes.legend(frameon=False, title="tokens per iteration")


def _lengths(figure: "Figure", result: Result) -> None:
    name = "reference length in subwords (between ticks a bin, systems side by side)"
    axes = _axes(figure, name, "passes (mean, standard deviation)")
    # A bin of few sentences is left to the table: one could stretch the axis.
    shown = [row for row in result["rows"] if row["count"] >= _FEWEST_SENTENCES]
    shown = shown or result["rows"]
    groups = list(_grouped(shown, "system"))
    for number, ((system,), rows) in enumerate(groups, start=1):
        # Side by side, so that error bars do not hide each other.
        offset = BIN_WIDTH * number / (len(groups) + 1) - 0.5
        x = [row["first_length"] + offset for row in rows]
        y, error = _columns(rows, "mean", "std")
        speed = result["speeds"][system]["speed"]
        name = f"{label(system)}, {rows[0]['setting']} ({speed:.1f})"
        style = _style(system) | {"elinewidth": 0.8}
        axes.errorbar(x, y, error, None, "", capsize=2, label=name, **style)
    edges = _bin_edges(row["first_length"] for row in shown)
    step = len(edges) // _MOST_LABELS + 1
    names = ["" if i % step else str(edge) for i, edge in enumerate(edges)]
    axes.set_xticks([edge - 0.5 for edge in edges], names)
    axes.set_xlim(edges[0] - 0.5, edges[-1] - 0.5)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, title="setting (tokens per iteration)")


#: Of a bin of lengths that is drawn, if there is such a bin.
_FEWEST_SENTENCES = 5
#: Of bins of lengths; of more, some ticks stay without.
_MOST_LABELS = 14


def _bin_edges(firsts: Iterable[int]) -> list[int]:
    """Returns the first length of each bin and of the one after the last."""
    found = set(firsts)
    return list(range(min(found), max(found) + BIN_WIDTH + 1, BIN_WIDTH))


def _dev_test(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, f"dev {_SPEED}", f"test {_SPEED}")
    _scatter(axes, result, "dev", "test")


def _promises(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, f"promised {_SPEED}", f"test {_SPEED}")
    _scatter(axes, result, "promised", "measured")


def _scatter(axes: "Axes", result: Result, x_name: str, y_name: str) -> None:
    most = max(row[name] for row in result["rows"] for name in (x_name, y_name))
    axes.plot([0, most], [0, most], color="0.6", linewidth=0.8, label="equal")
    for (system,), rows in _grouped(result["rows"], "system"):
        x, y = _columns(rows, x_name, y_name)
        error = result["errors"][system]
        name = f"{label(system)}: error {error['mean']:.2f} on average, "
        name += f"{error['largest']:.2f} at most"
        axes.plot(x, y, label=name, **_style(system) | {"linestyle": "none"})
    axes.legend(frameon=False)


def _length_classifier(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, "share of sentences (%)", "")
    names, shares = _columns(result["rows"], "measure", "share")
    axes.barh(names[::-1], [100 * share for share in shares[::-1]], color=STYLES[0][0])
    axes.set_xlim(0, 100)


def _probabilities(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, "probability of the best token", "share of right tokens")
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, label="calibrated")
    for number, group in enumerate(_SHOWN_GROUPS):
        rows = [row for row in result["rows"] if row["group"] == group]
        for row, line in zip(rows, ("-", ":"), strict=False):
            bins = [cells[1:] for cells in row["bins"] if cells[0] >= _FEWEST]
            color, marker = STYLES[number]
            name = f"{group}, temperature {row['temperature']:g}"
            name += f": ECE {100 * row['ece']:.1f} %"
            style: dict[str, Any] = {"color": color, "marker": marker}
            x, y = zip(*bins, strict=True) if bins else ((), ())
            axes.plot(x, y, linestyle=line, label=name, markersize=4, **style)
    axes.legend(frameon=False, fontsize=7)


#: Of all groups of predictions, and the fewest that make a point.
_SHOWN_GROUPS = ("all", "rank 1", "ranks 9 to 16")
_FEWEST = 20


def _temperature(figure: "Figure", result: Result) -> None:
    axes = _axes(figure, _SPEED, _BLEU)
    for (system, value), rows in _grouped(result["rows"], "system", "temperature"):
        x, y = _columns(sorted(rows, key=lambda r: r["slowest"]), "slowest", "bleu")
        name = f"{label(system)}, temperature {value:g}"
        line = "-" if value == 1.0 else ":"
        axes.plot(x, y, label=name, **_style(system) | {"linestyle": line})
    axes.legend(frameon=False)


DRAWINGS: dict[str, Callable[["Figure", Result], None]] = {
    "tradeoff": _tradeoff,
    "strategies": _strategies,
    "passes": _passes,
    "lengths": _lengths,
    "dev_test": _dev_test,
    "promises": _promises,
    "length_classifier": _length_classifier,
    "probabilities": _probabilities,
    "temperature": _temperature,
}


def _axes(figure: "Figure", x_label: str, y_label: str) -> "Axes":
    return _style_axes(figure.add_subplot(), x_label, y_label)


def _style_axes(axes: "Axes", x_label: str, y_label: str) -> "Axes":
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(color="0.9", linewidth=0.6)
    return axes


def _whole_ticks(axes: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _bands(axes: "Axes", rows: Sequence[Row], x_name: str) -> None:
    """Draws BLEU with its 95 % interval, a line for each system."""
    for (system,), points in _grouped(rows, "system"):
        points = sorted(points, key=lambda row: row[x_name])
        x, y, error = _columns(points, x_name, "bleu", "bleu_ci")
        axes.plot(x, y, label=label(system), **_style(system))
        low, high = (
            [b + s * e for b, e in zip(y, error, strict=True)] for s in (-1, 1)
        )
        color = _style(system)["color"]
        axes.fill_between(x, low, high, color=color, alpha=0.12, linewidth=0)


def _style(system: str) -> dict[str, Any]:
    """Returns the look of a system, the same in all figures."""
    names = list(HEURISTICS) if system in HEURISTICS else list(STRATEGIES)
    color, marker = STYLES[names.index(system)]
    return {"color": color, "marker": marker, "markersize": 4}


def _grouped(
    rows: Iterable[Row], *names: str
) -> Iterable[tuple[tuple[Any, ...], list[Row]]]:
    """Groups rows by some fields, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups.items()


def _columns(rows: Sequence[Row], *names: str) -> list[list[Any]]:
    return [[row[name] for row in rows] for name in names]
