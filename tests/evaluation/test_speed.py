"""Tests of cmlm_tf.evaluation.speed."""

import pytest

from cmlm_tf.evaluation.speed import TokensPerIteration, tokens_per_iteration
from cmlm_tf.translate.results import Translation

_LONG = Translation("", 0.0, 30, 2, 1, 8)
_SHORT = Translation("", 0.0, 2, 2, 1, 8)
_BLANK = Translation("")


@pytest.mark.parametrize(
    ("translations", "expected"),
    [
        # 30 tokens in 2 passes and 2 tokens in 2: 32 / 4, not (15 + 1) / 2.
        ([_LONG, _SHORT, _BLANK], TokensPerIteration(8.0, 16.0, 2.0)),
        ([_BLANK], TokensPerIteration(0.0, 0.0, 0.0)),
        ([], TokensPerIteration(0.0, 0.0, 0.0)),
    ],
)
def test_ratio_of_sums_not_mean_of_ratios(translations, expected):
    assert tokens_per_iteration(translations) == expected
