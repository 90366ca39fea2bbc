"""Draws what the decoding benchmark measured: latency and quality against speed."""

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from cmlm_tf.evaluation.plots import RC_PARAMS, STYLES, save

Row = Mapping[str, Any]


def plot_decoding(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Draws median latency over batch size, and BLEU over throughput if known.

    Args:
        rows: as `benchmarks/decoding.py` writes them.
        path: the file to write, by suffix (.png, .svg, .pdf).
    """
    import matplotlib
    from matplotlib.figure import Figure

    systems = list(dict.fromkeys(row["system"] for row in rows))
    with_bleu = any(row["bleu"] is not None for row in rows)
    with matplotlib.rc_context(RC_PARAMS):
        figure = Figure(figsize=(9.0 if with_bleu else 5.0, 4.5), layout="constrained")
        axes = figure.subplots(1, 2 if with_bleu else 1, squeeze=False)[0]
        for system, (color, marker), line in zip(
            systems, itertools.cycle(STYLES), _line_styles(), strict=False
        ):
            own = [row for row in rows if row["system"] == system]
            own.sort(key=lambda row: row["batch_size"])
            style = {"color": color, "marker": marker, "linestyle": line}
            sizes = [row["batch_size"] for row in own]
            axes[0].plot(sizes, [row["p50_ms"] for row in own], label=system, **style)
            known = [row for row in own if row["bleu"] is not None]
            if known:
                speeds = [row["sentences_per_second"] for row in known]
                axes[1].plot(speeds, [row["bleu"] for row in known], **style)
        _name_axes(axes[0], "batch size (sentences)", "median latency (ms)")
        axes[0].set_xticks(sorted({row["batch_size"] for row in rows}))
        _make_logarithmic(axes[0], "y")
        if with_bleu:
            _name_axes(axes[1], "sentences per second", "quality (SacreBLEU)")
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        save(figure, path)


def _line_styles():
    """Yields a line style for each system, the next when the colours begin anew."""
    for style in itertools.cycle(("-", "--", ":")):
        yield from [style] * len(STYLES)


def _name_axes(axes: Any, across: str, up: str) -> None:
    _make_logarithmic(axes, "x")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6)


def _make_logarithmic(axes: Any, name: str) -> None:
    """Scales axis "x" or "y", with ticks at 1, 2, 5 and 10 times a power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(**{f"{name}scale": "log"})
    axis = getattr(axes, f"{name}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    # The usual labels are formulas, which `RC_PARAMS` shows as they are written.
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
