"""Tests of cmlm_tf.evaluation.speed."""

import pytest

from cmlm_tf.evaluation.speed import TokensPerIteration, tokens_per_iteration


def test_ratio_of_sums_not_mean_of_ratios():
    # 30 tokens in 2 passes and 2 tokens in 2: 32 / 4, not (15 + 1) / 2.
    speed = tokens_per_iteration([30, 2], [2, 2], [1, 1], [8, 8])
    assert speed == TokensPerIteration(slowest=8.0, selected=16.0, summed=2.0)


def test_blank_lines_cost_nothing():
    assert tokens_per_iteration([8, 0], [2, 0], [2, 0], [4, 0]).slowest == 4.0
    assert tokens_per_iteration([0], [0], [0], [0]) == TokensPerIteration(0.0, 0.0, 0.0)
    assert tokens_per_iteration([], [], [], []) == TokensPerIteration(0.0, 0.0, 0.0)


@pytest.mark.parametrize("short", range(1, 4))
def test_counts_of_different_length(short):
    counts = [[1, 1] for _ in range(4)]
    counts[short] = [1]
    with pytest.raises(ValueError, match="every sentence"):
        tokens_per_iteration(*counts)
