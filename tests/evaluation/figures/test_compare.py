"""Differences and their intervals, by hand."""

import math

import pytest

from cmlm_tf.evaluation.figures.compare import (
    Difference,
    Scores,
    difference,
    gain,
    half_interval,
)


def _line(system, points):
    return [
        {"system": system, "slowest": speed, "bleu": bleu, "bleu_ci": half}
        for speed, bleu, half in points
    ]


def test_bleu_is_compared_at_equal_speed():
    """Both lines by hand at 2, 2.25, ..., 3; more settings of one count no more."""
    rows = _line("a", [(1.0, 30.0, 0.5), (3.0, 28.0, 0.9)])
    rows += _line("b", [(x, 27.0, 0.0) for x in (2.0, 2.1, 2.2, 5.0)])
    found, low, high = gain(rows, {"system": "a"}, {"system": "b"})
    assert (low, high) == (2.0, 3.0)
    # a is at 29, 28.75, 28.5, 28.25, 28, each ± 0.7 to 0.9.
    assert found.mean == pytest.approx(28.5 - 27.0)
    assert found.half == pytest.approx(0.8)
    with pytest.raises(ValueError, match="no common speed"):
        rows = rows[:2] + _line("c", [(4.0, 9.0, 0.1)])
        gain(rows, {"system": "a"}, {"system": "c"})


def test_intervals_of_two_systems():
    """As of two texts: variances add up; pairs of one text add nothing."""
    one = difference(Scores([30.0], [0.6]), Scores([29.0], [0.8]))
    assert one == pytest.approx((1.0, 1.0))
    many = difference(Scores([30.0, 32.0], [0.6] * 2), Scores([29.0, 28.0], [0.8] * 2))
    assert many == pytest.approx((2.5, 1.0))


def test_a_paired_bootstrap_where_resamples_are_there():
    """By hand: the mean of both differences is 1, 2 and 3 in the resamples."""
    rows = [
        {
            "system": s,
            "slowest": x,
            "bleu": bleu,
            "bleu_ci": 9.0,
            "resampled": resampled,
        }
        for s, x, bleu, resampled in (
            ("a", 1.0, 32.0, [40.0, 20.0, 33.0]),
            ("a", 1.25, 32.0, [40.0, 21.0, 33.0]),
            ("b", 1.0, 30.0, [39.0, 18.0, 29.0]),
            ("b", 1.25, 30.0, [39.0, 19.0, 31.0]),
        )
    ]
    sides = {"system": "a"}, {"system": "b"}
    assert gain(rows, *sides)[0] == pytest.approx((2.0, 1.96 * 1.0))
    # Of one that was measured without, the intervals are taken.
    del rows[0]["resampled"]
    assert gain(rows, *sides)[0] == pytest.approx((2.0, math.hypot(9.0, 9.0)))


@pytest.mark.parametrize(
    ("mean", "half", "verdict"),
    [
        (0.6, 0.5, "holds"),
        (0.5, 0.5, "not decided"),
        (-0.4, 0.5, "not decided"),
        (-0.6, 0.5, "fails"),
        (0.0, 0.0, "not decided"),
    ],
)
def test_a_difference_counts_beyond_its_interval(mean, half, verdict):
    assert Difference(mean, half).verdict == verdict


def test_interval_of_a_mean_over_groups():
    """Of sums of 4 values with deviation 1 and 12 with 2: variance 4 + 48."""
    assert half_interval([(4, 1.0), (12, 2.0)]) == pytest.approx(
        1.96 * math.sqrt(4 * 1 + 12 * 4) / 16
    )
    assert half_interval([]) == 0.0
