"""When one system is better than another: by more than chance would make it.

A difference comes with half the width of its 95 % interval. That of BLEU is of a paired
bootstrap: every point keeps BLEU of the same resamples of the text.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

#: Claim, verdict and the numbers that it rests on.
Judged = tuple[str, str, str]

HOLDS, FAILS, NOT_DECIDED = "holds", "fails", "not decided"
SPEEDS = np.arange(1.0, 11.01, 0.25)
#: Half a 95 % interval in standard errors.
_NORMAL = 1.96


class Difference(NamedTuple):
    """How much larger one number is than another, and half its 95 % interval."""

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

        >>> [Difference(mean, 1.5).verdict for mean in (2.0, 1.5, -1.0, -2.0)]
        ['holds', 'not decided', 'not decided', 'fails']
        """
        if abs(self.mean) <= self.half:
            return NOT_DECIDED
        return HOLDS if self.mean > 0 else FAILS


def scores(frame: pd.DataFrame) -> np.ndarray:
    """Returns float `[rows, 1 + resamples]`: BLEU, then BLEU of each resample."""
    resampled = np.array(frame.resampled.tolist())
    return np.column_stack([frame.bleu, resampled])


def difference(more: np.ndarray, less: np.ndarray) -> Difference:
    """Subtracts scores `[n, 1 + resamples]`; of n pairs the mean."""
    change = np.mean(more - less, axis=0)
    return Difference(change[0], _NORMAL * np.std(change[1:], ddof=1))


def interpolate(
    frame: pd.DataFrame, passes: str, speeds: Sequence[float] | np.ndarray = SPEEDS
) -> tuple[np.ndarray, np.ndarray]:
    """Interpolates scores between a system's settings.

    The column `passes`, `slowest` or `selected`, has their tokens per iteration.

    Returns:
        Those of the speeds that the system reaches, and the scores there.
    """
    frame = frame.sort_values([passes, "bleu"])
    known = frame[passes].to_numpy()
    speeds = np.array([s for s in speeds if known[0] <= s <= known[-1]])
    at = functools.partial(np.interp, speeds, known)
    return speeds, np.apply_along_axis(at, 0, scores(frame))


def judge_gain(
    claim: str, better: pd.DataFrame, worse: pd.DataFrame, passes: str = "slowest"
) -> Judged:
    """Judges BLEU at equal speed: the mean over the speeds that both reach."""
    (first, ours), (second, theirs) = (
        interpolate(frame, passes) for frame in (better, worse)
    )
    speeds = np.intersect1d(first, second)
    if not len(speeds):
        return claim, NOT_DECIDED, "no common speed"
    gained = difference(ours[np.isin(first, speeds)], theirs[np.isin(second, speeds)])
    span = f"from {speeds[0]:g} to {speeds[-1]:g} tokens/iteration"
    return claim, gained.verdict, f"{gained} BLEU on average {span}"


def all_of(verdicts: Sequence[str]) -> str:
    """Judges a claim of several parts.

    >>> all_of([HOLDS, NOT_DECIDED]), all_of([HOLDS, FAILS]), all_of([HOLDS])
    ('not decided', 'fails', 'holds')
    """
    return next((v for v in (FAILS, NOT_DECIDED) if v in verdicts), HOLDS)


def half_interval(counts: Any, deviations: Any) -> float:
    """Returns half the 95 % interval of a mean over groups of fixed sizes.

    >>> round(half_interval([100], [2.0]), 3)
    0.392
    """
    variance = np.dot(counts, np.square(deviations))
    return float(_NORMAL * np.sqrt(variance) / max(sum(counts), 1))


def apart(more: Difference, less: Difference) -> Difference:
    """Subtracts numbers as if they were measured on different texts."""
    return Difference(more.mean - less.mean, float(np.hypot(more.half, less.half)))
