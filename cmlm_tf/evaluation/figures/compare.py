"""When one system is better than another: by more than chance would make it.

A difference comes with half the width of a 95 % interval. Intervals of two systems
are put together as if the systems were measured on different texts. They share the
text, and what is hard for one is hard for the other, so the interval of the
difference is rather too wide: what is decided by it is decided.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]

HOLDS, FAILS, NOT_DECIDED = "holds", "fails", "not decided"
SPEEDS = np.arange(1.0, 11.01, 0.25)
#: Half a 95 % interval in standard errors.
_NORMAL = 1.96


class Difference(NamedTuple):
    """How much larger one number is than another.

    Attributes:
        mean: the difference.
        half: half the width of its 95 % interval.
    """

    mean: float
    half: float

    def __str__(self) -> str:
        """Returns the difference with its interval.

        >>> str(Difference(0.5, 0.25))
        '+0.50 ± 0.25'
        """
        return f"{self.mean:+.2f} ± {self.half:.2f}"

    @property
    def verdict(self) -> str:
        """Tells whether it is above 0.

        >>> [Difference(mean, 1.5).verdict for mean in (2.0, 1.0, -2.0)]
        ['holds', 'not decided', 'fails']
        """
        if abs(self.mean) <= self.half:
            return NOT_DECIDED
        return HOLDS if self.mean > 0 else FAILS


def difference(more: tuple[Any, Any], less: tuple[Any, Any]) -> Difference:
    """Subtracts means and puts half intervals together.

    Where there are several pairs, such as one for each speed, their mean is taken.
    All pairs are of one text, so that its interval is no narrower than theirs.

    >>> difference((5.0, 3.0), (2.0, 4.0))
    Difference(mean=3.0, half=5.0)

    Args:
        more: the value that is to be larger and half its interval, or one of each
            for every pair.
        less: likewise.
    """
    mean = np.mean(np.subtract(more[0], less[0]))
    return Difference(float(mean), float(np.mean(np.hypot(more[1], less[1]))))


def all_of(verdicts: Iterable[str]) -> str:
    """Judges a claim of which each part was judged.

    >>> all_of([HOLDS, NOT_DECIDED]), all_of([HOLDS, FAILS]), all_of([HOLDS])
    ('not decided', 'fails', 'holds')
    """
    found = set(verdicts)
    if FAILS in found:
        return FAILS
    return NOT_DECIDED if NOT_DECIDED in found else HOLDS


def gain(
    rows: Sequence[Row], better: Row, worse: Row
) -> tuple[Difference, float, float]:
    """Compares BLEU at equal speed.

    BLEU is interpolated between settings, and the mean difference taken over the
    speeds that both reach.

    >>> rows = [
    ...     {"system": s, "slowest": x, "bleu": 30.0 - x + (s == "a"), "bleu_ci": 0.0}
    ...     for s in "ab" for x in (1.0, 3.0)
    ... ]
    >>> gain(rows, {"system": "a"}, {"system": "b"})
    (Difference(mean=1.0, half=0.0), 1.0, 3.0)

    Args:
        rows: of a figure, with `slowest`, `bleu` and `bleu_ci`.
        better: fields that its rows have.
        worse: likewise.

    Returns:
        The difference, and the slowest and the fastest speed of the comparison.

    Raises:
        ValueError: no speed is common to both.
    """
    curves = [curve(rows, chosen) for chosen in (better, worse)]
    low = max(speeds[0] for speeds, _, _ in curves)
    high = min(speeds[-1] for speeds, _, _ in curves)
    speeds = SPEEDS[(SPEEDS >= low) & (SPEEDS <= high)]
    if not len(speeds):
        raise ValueError("no common speed")
    first, second = (
        (np.interp(speeds, x, bleu), np.interp(speeds, x, half))
        for x, bleu, half in curves
    )
    return difference(first, second), float(speeds[0]), float(speeds[-1])


def curve(rows: Sequence[Row], chosen: Row) -> tuple[Any, Any, Any]:
    """Returns speeds, from slow to fast, BLEU and half its interval.

    Args:
        rows: of a figure, with `slowest`, `bleu` and `bleu_ci`.
        chosen: fields that the rows of the curve have.
    """
    points = [
        (row["slowest"], row["bleu"], row["bleu_ci"])
        for row in rows
        if chosen.items() <= row.items()
    ]
    return tuple(map(np.array, zip(*sorted(points), strict=True)))  # type: ignore


def half_interval(groups: Iterable[tuple[int, float]]) -> float:
    """Returns half the 95 % interval of a mean over groups of fixed sizes.

    >>> round(half_interval([(100, 2.0)]), 3)
    0.392

    Args:
        groups: how many values each has, and their standard deviation.
    """
    sizes, deviations = np.array(list(groups), float).reshape(-1, 2).T
    return _NORMAL * math.sqrt(sizes @ deviations**2) / max(float(sizes.sum()), 1.0)
