"""When one system is better than another: by more than chance would make it.

A difference comes with half the width of a 95 % interval. Where BLEU of the same
bootstrap resamples is at hand for both systems, the interval is that of a paired
bootstrap. Otherwise the intervals of both are put together as if they were measured
on different texts. They share the text, and what is hard for one is hard for the
other, so that this interval is too wide rather than too narrow.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]
#: What was measured on one model: the content of figures by their name.
Results = dict[str, dict[str, Any]]
#: Claim, verdict and numbers.
Judged = tuple[str, str, str]

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


class Scores(NamedTuple):
    """What a system has, at one or more settings.

    Attributes:
        values: float `[n]`.
        halves: float `[n]`, half their 95 % intervals.
        resampled: float `[n, resamples]`, the values in bootstrap resamples that are
            the same for all systems, or None.
    """

    values: Any
    halves: Any
    resampled: Any = None

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Scores":
        """Takes BLEU from rows of a figure."""
        values, halves = ([row[k] for row in rows] for k in ("bleu", "bleu_ci"))
        counts = {len(row.get("resampled", ())) for row in rows}
        if len(counts) != 1 or min(counts) < 2:
            return cls(values, halves)
        return cls(values, halves, np.array([row["resampled"] for row in rows]))

    def at(self, speeds: np.ndarray, known: Sequence[float]) -> "Scores":
        """Interpolates, given the speed of each setting, from slow to fast."""
        # [speeds, n]: the share of each setting in each speed.
        shares = np.array(
            [np.interp(speeds, known, unit) for unit in np.eye(len(known))]
        ).T
        parts = (None if part is None else shares @ np.array(part) for part in self)
        return Scores(*parts)


def difference(more: Scores, less: Scores) -> Difference:
    """Subtracts scores; of several pairs, such as one for each speed, the mean.

    >>> difference(Scores([5.0], [3.0]), Scores([2.0], [4.0]))
    Difference(mean=3.0, half=5.0)

    Args:
        more: what is to be larger.
        less: as many scores on the same text.
    """
    mean = float(np.mean(np.subtract(more.values, less.values)))
    pairs = more.resampled, less.resampled
    if all(p is not None for p in pairs) and pairs[0].shape == pairs[1].shape:
        half = _NORMAL * np.std(np.mean(pairs[0] - pairs[1], axis=0), ddof=1)
    else:
        # All pairs are of one text: the mean's interval is no narrower than theirs.
        half = np.mean(np.hypot(more.halves, less.halves))
    return Difference(mean, float(half))


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
    rows: Sequence[Row], better: Row, worse: Row, passes: str = "slowest"
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
        rows: of a figure, with speed, `bleu` and `bleu_ci`.
        better: fields that its rows have.
        worse: likewise.
        passes: whose passes make the speed: `slowest`, `selected` or `summed`.

    Returns:
        The difference, and the slowest and the fastest speed of the comparison.

    Raises:
        ValueError: no speed is common to both.
    """
    curves = [curve(rows, chosen, passes) for chosen in (better, worse)]
    low = max(known[0] for known, _ in curves)
    high = min(known[-1] for known, _ in curves)
    speeds = SPEEDS[(SPEEDS >= low) & (SPEEDS <= high)]
    if not len(speeds):
        raise ValueError("no common speed")
    first, second = (scores.at(speeds, known) for known, scores in curves)
    return difference(first, second), float(speeds[0]), float(speeds[-1])


def judge_gain(
    claim: str, rows: Sequence[Row], better: Row, worse: Row, passes: str = "slowest"
) -> Judged:
    """Judges whether one system is better than another; arguments as of `gain`."""
    try:
        gained, low, high = gain(rows, better, worse, passes)
    except ValueError as error:
        return claim, NOT_DECIDED, str(error)
    speeds = f"from {low:g} to {high:g} tokens/iteration"
    return claim, gained.verdict, f"{gained} BLEU on average {speeds}"


def curve(
    rows: Sequence[Row], chosen: Row, passes: str = "slowest"
) -> tuple[list[float], Scores]:
    """Returns speeds, from slow to fast, and BLEU at each.

    Args:
        rows: of a figure, with speed, `bleu` and `bleu_ci`.
        chosen: fields that the rows of the curve have.
        passes: as of `gain`.
    """
    found = [row for row in rows if chosen.items() <= row.items()]
    found.sort(key=lambda row: (row[passes], row["bleu"]))
    return [row[passes] for row in found], Scores.of(found)


def half_interval(groups: Iterable[tuple[int, float]]) -> float:
    """Returns half the 95 % interval of a mean over groups of fixed sizes.

    >>> round(half_interval([(100, 2.0)]), 3)
    0.392

    Args:
        groups: how many values each has, and their standard deviation.
    """
    sizes, deviations = np.array(list(groups), float).reshape(-1, 2).T
    return _NORMAL * math.sqrt(sizes @ deviations**2) / max(float(sizes.sum()), 1.0)
