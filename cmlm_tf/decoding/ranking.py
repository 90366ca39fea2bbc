"""Ranks the candidates of each row and selects the best of them.

What the unmasking heuristics share: a heuristic decides how many of the best
candidates to unmask, the functions here find them. Ties go to the leftmost.
"""

import math
from typing import NamedTuple

import tensorflow as tf


class Ranking(NamedTuple):
    """The candidates of each row, best first, ties from left to right.

    Attributes:
        scores: float32 `[rows, length]`, what is ranked, at its own position;
            -inf exactly where there is no candidate.
        sorted_scores: float32 `[rows, length]`, `scores` in falling order.
        positions: int32 `[rows, length]`, where each of `sorted_scores` stands.
        num_candidates: int32 `[rows]`.
    """

    scores: tf.Tensor
    sorted_scores: tf.Tensor
    positions: tf.Tensor
    num_candidates: tf.Tensor

    @property
    def log_probs(self) -> tf.Tensor:
        """The candidates' log-probabilities by rank, -inf behind the last, likewise."""
        best_first = self.sorted_scores
        return tf.where(best_first > tf.float32.min, best_first, -math.inf)


def rank(log_probs: tf.Tensor, candidates: tf.Tensor) -> Ranking:
    """Ranks the candidates of each row; all else comes behind them.

    >>> rank(tf.constant([[-2.0, -1.0, -9.0, -1.0]]),
    ...      tf.constant([[False, True, True, True]])).positions.numpy().tolist()
    [[1, 3, 2, 0]]

    Args:
        log_probs: float32 `[rows, length]`, at most 0, may be -inf; ignored
            where not `candidates`.
        candidates: bool `[rows, length]`, True at the positions to rank.

    Returns:
        The ranking.
    """
    # XLA sorts -0.0 behind 0.0, and takes an added 0.0 away as a no-op.
    log_probs = tf.where(log_probs == 0.0, 0.0, log_probs)
    # A candidate of probability zero still precedes what is no candidate.
    log_probs = tf.maximum(log_probs, tf.float32.min)
    scores = tf.where(candidates, log_probs, -math.inf)
    ranked = tf.math.top_k(scores, k=tf.shape(scores)[1])
    return Ranking(scores, ranked.values, ranked.indices, count_true(candidates))


def select_top(ranking: Ranking, counts: tf.Tensor) -> tf.Tensor:
    """Selects the best candidates of each row, at least one where there are any.

    >>> ranking = rank(tf.constant([[-2.0, -1.0, -3.0]]),
    ...                tf.constant([[True, True, True]]))
    >>> select_top(ranking, tf.constant([2])).numpy().tolist()
    [[True, True, False]]

    Args:
        ranking: the ranked candidates.
        counts: int32 `[rows]`, how many to select; brought into the range from
            one to the number of candidates.

    Returns:
        bool `[rows, length]`, True where selected, a subset of the candidates.
    """
    counts = tf.minimum(tf.maximum(counts, 1), ranking.num_candidates)
    last = tf.maximum(counts - 1, 0)[:, tf.newaxis]
    last_score = tf.gather(ranking.sorted_scores, last, batch_dims=1)
    last_position = tf.gather(ranking.positions, last, batch_dims=1)
    positions = tf.range(tf.shape(ranking.scores)[1])
    tied = (ranking.scores == last_score) & (positions <= last_position)
    selected = (ranking.scores > last_score) | tied
    return selected & (counts > 0)[:, tf.newaxis]


def largest_rank(met: tf.Tensor) -> tf.Tensor:
    """Finds the last rank at which a criterion is met.

    >>> largest_rank(tf.constant([[True, False, True, False]])).numpy().tolist()
    [3]

    Args:
        met: bool `[rows, length]`, by rank, True where the criterion is met.

    Returns:
        int32 `[rows]`, counted from 1; 0 where it is met at no rank.
    """
    ranks = tf.range(1, tf.shape(met)[1] + 1)
    return tf.reduce_max(tf.where(met, ranks, 0), axis=1)


def count_true(mask: tf.Tensor) -> tf.Tensor:
    """Counts the True entries of each row of a bool `[rows, length]`.

    >>> count_true(tf.constant([[True, False, True]])).numpy().tolist()
    [2]
    """
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
