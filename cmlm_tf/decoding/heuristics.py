"""Unmasking heuristics: which candidates become observed after a pass.

Kreutzer et al. (2020), section 3.2. Every rule ranks the candidates of a row by
the model's log-probability, decides how many of the best to unmask, and unmasks
those. Ties go to the leftmost position, and a row that has candidates always
gets at least one of them unmasked, so that decoding makes progress.
"""

import dataclasses
from typing import Any, TypeAlias

import tensorflow as tf

from cmlm_tf.decoding import ranking as ranking_lib

Number: TypeAlias = int | float | tf.Tensor


def thresh(log_probs: tf.Tensor, candidates: tf.Tensor, log_tau: Number) -> tf.Tensor:
    """Selects every candidate with a probability above tau.

    Kreutzer et al. (2020), section 3.2, "thresh": all tokens with `p > tau`,
    the single best one in rows where no token has.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.5]])
    >>> thresh(log_probs, log_probs < 0, tf.math.log(0.5)).numpy().tolist()
    [[True, False, True, False]]

    Args:
        log_probs: float32 `[rows, length]`, natural log-probability of the
            token at each position, may be -inf; ignored where not `candidates`.
        candidates: bool `[rows, length]`, True at the positions to choose from.
        log_tau: float32 scalar or `[rows]`, `log(tau)`; -inf for tau = 0.

    Returns:
        bool `[rows, length]`, True where a position becomes observed: a subset
        of `candidates`, empty exactly in rows without candidates.
    """
    above = candidates & (log_probs > _column(log_tau))
    ranking = ranking_lib.rank(log_probs, candidates)
    return ranking_lib.select_best(ranking, ranking_lib.count(above))


def comb_thresh(
    log_probs: tf.Tensor, candidates: tf.Tensor, log_tau: Number
) -> tf.Tensor:
    """Selects the largest top-ranked set with joint probability above tau.

    Kreutzer et al. (2020), section 3.2, "comb-thresh": the k best, k the
    largest integer with `p_1 * ... * p_k > tau`, and at least one.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8]])
    >>> comb_thresh(log_probs, log_probs < 0, tf.math.log(0.5)).numpy().tolist()
    [[True, False, False, True]]

    Args:
        log_probs: float32 `[rows, length]`, natural log-probability of the
            token at each position, may be -inf; ignored where not `candidates`.
        candidates: bool `[rows, length]`, True at the positions to choose from.
        log_tau: float32 scalar or `[rows]`, `log(tau)`; -inf for tau = 0.

    Returns:
        bool `[rows, length]`, True where a position becomes observed: a subset
        of `candidates`, empty exactly in rows without candidates.
    """
    ranking = ranking_lib.rank(log_probs, candidates)
    joint = tf.cumsum(ranking_lib.log_probs_by_rank(ranking), axis=1)
    num_best = ranking_lib.largest_rank(joint > _column(log_tau))
    return ranking_lib.select_best(ranking, num_best)


def fcomb_thresh(
    log_probs: tf.Tensor, candidates: tf.Tensor, log_tau: Number
) -> tf.Tensor:
    """Selects the largest top-ranked set that is likely while the rest is not.

    Kreutzer et al. (2020), section 3.2, "fcomb-thresh": the k best, k the
    largest integer with `p(Y) * (1 - p(rest)) > tau`, and at least one. The
    rest of all candidates is empty, its probability 1, and so the last
    candidate of a row only comes as that at least one.

    >>> log_probs = tf.math.log([[0.9, 0.5, 0.8, 0.9]])
    >>> fcomb_thresh(log_probs, log_probs < 0, tf.math.log(0.4)).numpy().tolist()
    [[True, False, False, True]]

    Args:
        log_probs: float32 `[rows, length]`, natural log-probability of the
            token at each position, may be -inf; ignored where not `candidates`.
        candidates: bool `[rows, length]`, True at the positions to choose from.
        log_tau: float32 scalar or `[rows]`, `log(tau)`; -inf for tau = 0.

    Returns:
        bool `[rows, length]`, True where a position becomes observed: a subset
        of `candidates`, empty exactly in rows without candidates.
    """
    ranking = ranking_lib.rank(log_probs, candidates)
    by_rank = ranking_lib.log_probs_by_rank(ranking)
    is_candidate = tf.sequence_mask(ranking.num_candidates, tf.shape(by_rank)[1])
    factors = tf.where(is_candidate, by_rank, 0.0)
    joint = tf.cumsum(by_rank, axis=1)
    rest = tf.cumsum(factors, axis=1, exclusive=True, reverse=True)
    criterion = joint + tf.math.log(-tf.math.expm1(rest))
    num_best = ranking_lib.largest_rank(criterion > _column(log_tau))
    return ranking_lib.select_best(ranking, num_best)


def mask_predict(
    log_probs: tf.Tensor,
    candidates: tf.Tensor,
    valid: tf.Tensor,
    iteration: Number,
    num_iterations: Number,
    floor_schedule: bool = False,
) -> tf.Tensor:
    """Selects the best candidates so that a row ends after T passes.

    Kreutzer et al. (2020), section 3.2, "mask-predict": of N positions,
    `min(N, t * ceil(N / T))` are observed after pass t, and in an unfinished
    row at least one more. A valid position that is no candidate is observed.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8, 0.7]])
    >>> everywhere = log_probs < 0
    >>> mask_predict(log_probs, everywhere, everywhere, 1, 3).numpy().tolist()
    [[True, False, False, True, False]]

    Args:
        log_probs: float32 `[rows, length]`, natural log-probability of the
            token at each position, may be -inf; ignored where not `candidates`.
        candidates: bool `[rows, length]`, True at the positions to choose from.
        valid: bool `[rows, length]`, True where not padding; N is its count.
        iteration: int32 scalar, t, 1 in the first pass.
        num_iterations: int32 scalar or `[rows]`, T, at least 1.
        floor_schedule: leave `floor(N * (T - t) / T)` positions masked instead,
            as the code released with Ghazvininejad et al. (2019) does.

    Returns:
        bool `[rows, length]`, True where a position becomes observed: a subset
        of `candidates`, empty exactly in rows without candidates.
    """
    length = ranking_lib.count(valid)
    total = tf.cast(num_iterations, tf.int32)
    if floor_schedule:
        num_observed = length - length * (total - iteration) // total
    else:
        num_observed = iteration * ((length + total - 1) // total)
    return _select_until(num_observed, log_probs, candidates, length)


def mask_predict_fixed_k(
    log_probs: tf.Tensor,
    candidates: tf.Tensor,
    valid: tf.Tensor,
    iteration: Number,
    tokens_per_iteration: Number,
) -> tf.Tensor:
    """Selects the K best candidates, whatever the length of the row.

    Kreutzer et al. (2020), section 3.2, mask-predict with a constant K: of N
    positions, `min(N, t * K)` are observed after pass t, and in an unfinished
    row at least one more. A valid position that is no candidate is observed.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8, 0.7]])
    >>> everywhere = log_probs < 0
    >>> mask_predict_fixed_k(
    ...     log_probs, everywhere, everywhere, 1, 3).numpy().tolist()
    [[True, False, False, True, True]]

    Args:
        log_probs: float32 `[rows, length]`, natural log-probability of the
            token at each position, may be -inf; ignored where not `candidates`.
        candidates: bool `[rows, length]`, True at the positions to choose from.
        valid: bool `[rows, length]`, True where not padding; N is its count.
        iteration: int32 scalar, t, 1 in the first pass.
        tokens_per_iteration: int32 scalar or `[rows]`, K, at least 1.

    Returns:
        bool `[rows, length]`, True where a position becomes observed: a subset
        of `candidates`, empty exactly in rows without candidates.
    """
    length = ranking_lib.count(valid)
    # Cut to the length first: a huge K would overflow in the product.
    step = tf.minimum(tf.cast(tokens_per_iteration, tf.int32), length)
    return _select_until(iteration * step, log_probs, candidates, length)


def _select_until(num_observed, log_probs, candidates, length) -> tf.Tensor:
    """Selects the best candidates up to `num_observed` positions of each row."""
    ranking = ranking_lib.rank(log_probs, candidates)
    already_observed = length - ranking.num_candidates
    return ranking_lib.select_best(ranking, num_observed - already_observed)


def _column(log_tau: Number) -> tf.Tensor:
    """Makes a scalar or `[rows]` threshold broadcast over the positions."""
    return tf.reshape(tf.cast(log_tau, tf.float32), [-1, 1])


@dataclasses.dataclass(frozen=True)
class MaskPredict:
    """The rule `mask_predict` with its T."""

    num_iterations: Number
    floor_schedule: bool = False

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions that become observed."""
        setting = (self.num_iterations, self.floor_schedule)
        return mask_predict(log_probs, candidates, valid, iteration, *setting)


@dataclasses.dataclass(frozen=True)
class MaskPredictFixedK:
    """The rule `mask_predict_fixed_k` with its K."""

    tokens_per_iteration: Number

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions that become observed."""
        return mask_predict_fixed_k(
            log_probs, candidates, valid, iteration, self.tokens_per_iteration
        )


@dataclasses.dataclass(frozen=True)
class _ThresholdRule:
    """A rule that looks at the candidates' probabilities and at tau alone."""

    tau: Number

    @property
    def log_tau(self) -> tf.Tensor:
        """float32 scalar or `[rows]`, -inf for tau = 0."""
        return tf.math.log(tf.cast(self.tau, tf.float32))


class Thresh(_ThresholdRule):
    """The rule `thresh` with its tau, from 0 to 1."""

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions that become observed."""
        return thresh(log_probs, candidates, self.log_tau)


class CombThresh(_ThresholdRule):
    """The rule `comb_thresh` with its tau, from 0 to 1."""

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions that become observed."""
        return comb_thresh(log_probs, candidates, self.log_tau)


class FcombThresh(_ThresholdRule):
    """The rule `fcomb_thresh` with its tau, from 0 to 1."""

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions that become observed."""
        return fcomb_thresh(log_probs, candidates, self.log_tau)


#: Every rule by the name that flags and configs give it.
HEURISTICS: dict[str, Any] = {
    "mask_predict": MaskPredict,
    "fixed_k": MaskPredictFixedK,
    "thresh": Thresh,
    "comb_thresh": CombThresh,
    "fcomb_thresh": FcombThresh,
}

#: Of T and K: whole in float32, and int32 holds its product with any length.
LARGEST_SETTING = 1_000_000


def validate_setting(name: str, value: float) -> None:
    """Checks a rule's name and the value of its T, K or tau.

    >>> validate_setting("comb_thresh", 0.1)
    >>> validate_setting("comb_thresh", 1.5)
    Traceback (most recent call last):
    ValueError: comb_thresh: tau must be from 0 to 1, not 1.5

    Args:
        name: a key of `HEURISTICS`.
        value: the Python number that its rule is to be made with.

    Raises:
        ValueError: the name is unknown, tau is outside 0 to 1, or T or K is not
            a whole number from 1 to `LARGEST_SETTING`.
    """
    if name not in HEURISTICS:
        names = ", ".join(HEURISTICS)
        raise ValueError(f"heuristic must be one of {names}, not {name!r}")
    field = dataclasses.fields(HEURISTICS[name])[0].name
    if field == "tau":
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: tau must be from 0 to 1, not {value}")
    elif not (1 <= value <= LARGEST_SETTING and float(value).is_integer()):
        raise ValueError(
            f"{name}: {field} must be a whole number of at least 1 and at most "
            f"{LARGEST_SETTING}, not {value}"
        )
