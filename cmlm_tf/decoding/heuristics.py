"""Unmasking heuristics: which candidates become observed after a pass.

Kreutzer et al. (2020), section 3.2. Every rule ranks the candidates of a row by
the model's log-probability, decides how many of the best to unmask, and unmasks
those. Ties go to the leftmost position, and a row that has candidates always
gets at least one of them unmasked, so that decoding makes progress.

A rule is one class: its call is the rule, its class attributes tell all that flags,
options, calibration, sweeps and serving need to know of it. A new rule needs a line in
`HEURISTICS`, and nothing elsewhere.
"""

import abc
import dataclasses
import math
from typing import ClassVar, TypeAlias

import tensorflow as tf

from cmlm_tf.decoding import ranking

Number: TypeAlias = int | float | tf.Tensor

#: Of T and K: whole in float32, and int32 holds its product with any length.
LARGEST_SETTING = 1_000_000


class Heuristic(abc.ABC):
    """How many of a row's best candidates to unmask after a pass.

    Every rule is a frozen dataclass whose first field is its setting.

    Attributes:
        name: what flags, files and requests call the rule.
        symbol: what the paper calls its setting.
        is_whole: whether the setting is a whole number.
        limits: the smallest and the largest setting.
        default: the setting where none is given.
        grid: settings from slow to fast, for calibration and sweeps; about 1 to 12
            tokens per iteration of a trained student.
    """

    name: ClassVar[str]
    symbol: ClassVar[str]
    is_whole: ClassVar[bool] = False
    limits: ClassVar[tuple[float, float]]
    default: ClassVar[float]
    grid: ClassVar[tuple[float, ...]]

    @abc.abstractmethod
    def __init__(self, setting: Number):
        """Takes the setting: a scalar, or a tensor `[rows]` of one for each row."""

    @abc.abstractmethod
    def __call__(
        self,
        log_probs: tf.Tensor,
        candidates: tf.Tensor,
        valid: tf.Tensor,
        iteration: Number,
    ) -> tf.Tensor:
        """Selects the positions that become observed.

        Args:
            log_probs: float32 `[rows, length]`, natural log-probability of the
                token at each position, may be -inf; ignored where not `candidates`.
            candidates: bool `[rows, length]`, True at the positions to choose from.
            valid: bool `[rows, length]`, True where not padding; N is its count. What
                is valid but no candidate is observed.
            iteration: int32 scalar, t, 1 in the first pass.

        Returns:
            bool `[rows, length]`, True where a position becomes observed: a subset
            of `candidates`, empty exactly in rows without candidates.
        """

    @classmethod
    def setting_name(cls) -> str:
        """Names the setting, as the field and the flag are called."""
        return dataclasses.fields(cls)[0].name  # type: ignore[arg-type]

    @classmethod
    def requirement(cls) -> str:
        """Says what a setting must be."""
        low, high = cls.limits
        whole = f"a whole number of at least {low} and at most {high}"
        span = whole if cls.is_whole else f"from {low} to {high}"
        return f"{cls.setting_name()} must be {span}"

    @classmethod
    def check(cls, setting: float) -> None:
        """Checks a setting, a Python number.

        >>> CombThresh.check(0.1)
        >>> CombThresh.check(1.5)
        Traceback (most recent call last):
        ValueError: comb_thresh: tau must be from 0 to 1, not 1.5

        Raises:
            ValueError: it is outside the limits, or no whole number but must be one.
        """
        low, high = cls.limits
        fits = low <= setting <= high
        if not fits or (cls.is_whole and not float(setting).is_integer()):
            raise ValueError(f"{cls.name}: {cls.requirement()}, not {setting}")

    @classmethod
    def place(cls, setting: float) -> float:
        """Maps a setting to the axis on which speed is nearly linear; slow is low."""
        return setting

    @classmethod
    def setting_at(cls, place: float) -> float:
        """Undoes `place`; only of rules whose setting is no whole number."""
        return place


@dataclasses.dataclass(frozen=True)
class MaskPredict(Heuristic):
    """Unmasks the best candidates so that a row ends after T passes.

    Kreutzer et al. (2020), section 3.2, "mask-predict": of N positions,
    `min(N, t * ceil(N / T))` are observed after pass t, and in an unfinished
    row at least one more.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8, 0.7]])
    >>> everywhere = log_probs < 0
    >>> MaskPredict(3)(log_probs, everywhere, everywhere, 1).numpy().tolist()
    [[True, False, False, True, False]]

    Attributes:
        num_iterations: T, int32 scalar or `[rows]`, at least 1.
        floor_schedule: leave `floor(N * (T - t) / T)` positions masked instead,
            as the code released with Ghazvininejad et al. (2019) does.
    """

    num_iterations: Number
    floor_schedule: bool = False

    name = "mask_predict"
    symbol = "T"
    is_whole = True
    limits = (1, LARGEST_SETTING)
    default = 10
    grid = (20, 15, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1)

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions; see `Heuristic`."""
        length = ranking.count_true(valid)
        total = tf.cast(self.num_iterations, tf.int32)
        if self.floor_schedule:
            num_observed = length - length * (total - iteration) // total
        else:
            num_observed = iteration * ((length + total - 1) // total)
        ranked = ranking.rank(log_probs, candidates)
        return _select_until(num_observed, ranked, length)

    @classmethod
    def place(cls, setting: float) -> float:
        """Speed is the mean of N, divided by T."""
        return 1 / setting


@dataclasses.dataclass(frozen=True)
class MaskPredictFixedK(Heuristic):
    """Unmasks the K best candidates, whatever the length of the row.

    Kreutzer et al. (2020), section 3.2, mask-predict with a constant K: of N
    positions, `min(N, t * K)` are observed after pass t, and in an unfinished
    row at least one more.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8, 0.7]])
    >>> everywhere = log_probs < 0
    >>> MaskPredictFixedK(3)(log_probs, everywhere, everywhere, 1).numpy().tolist()
    [[True, False, False, True, True]]

    Attributes:
        tokens_per_iteration: K, int32 scalar or `[rows]`, at least 1.
    """

    tokens_per_iteration: Number

    name = "fixed_k"
    symbol = "K"
    is_whole = True
    limits = (1, LARGEST_SETTING)
    default = 3
    grid = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15)

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions; see `Heuristic`."""
        length = ranking.count_true(valid)
        # Cut to the length first: a huge K would overflow in the product.
        step = tf.minimum(tf.cast(self.tokens_per_iteration, tf.int32), length)
        ranked = ranking.rank(log_probs, candidates)
        return _select_until(iteration * step, ranked, length)


@dataclasses.dataclass(frozen=True)
class _ThresholdRule(Heuristic):
    """A rule that looks at the candidates' probabilities and at tau alone.

    Attributes:
        tau: float32 scalar or `[rows]`, from 0 to 1.
    """

    tau: Number

    symbol = "tau"
    limits = (0, 1)
    default = 0.1

    @property
    def log_tau(self) -> tf.Tensor:
        """float32 `[1, 1]` or `[rows, 1]`, -inf for tau = 0."""
        return tf.reshape(tf.math.log(tf.cast(self.tau, tf.float32)), [-1, 1])

    @classmethod
    def place(cls, setting: float) -> float:
        """Speed is nearly linear in the root of -log tau."""
        return math.sqrt(math.log(1 / setting)) if setting else math.inf

    @classmethod
    def setting_at(cls, place: float) -> float:
        """Undoes `place`."""
        return math.exp(-place * place)


class Thresh(_ThresholdRule):
    """Unmasks every candidate with a probability above tau.

    Kreutzer et al. (2020), section 3.2, "thresh": all tokens with `p > tau`,
    the single best one in rows where no token has.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.5]])
    >>> everywhere = log_probs < 0
    >>> Thresh(0.5)(log_probs, everywhere, everywhere, 1).numpy().tolist()
    [[True, False, True, False]]
    """

    name = "thresh"
    grid = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.45, 0.3, 0.2, 0.1)

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions; see `Heuristic`."""
        num_best = ranking.count_true(candidates & (log_probs > self.log_tau))
        return ranking.select_top(ranking.rank(log_probs, candidates), num_best)


class CombThresh(_ThresholdRule):
    """Unmasks the largest top-ranked set with joint probability above tau.

    Kreutzer et al. (2020), section 3.2, "comb-thresh": the k best, k the
    largest integer with `p_1 * ... * p_k > tau`, and at least one.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8]])
    >>> everywhere = log_probs < 0
    >>> CombThresh(0.5)(log_probs, everywhere, everywhere, 1).numpy().tolist()
    [[True, False, False, True]]
    """

    name = "comb_thresh"
    grid = (0.95, 0.7, 0.45, 0.3, 0.15, 0.06, 0.02, 6e-3, 1.5e-3, 3e-4, 3e-5, 1e-6)

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions; see `Heuristic`."""
        ranked = ranking.rank(log_probs, candidates)
        joint = tf.cumsum(ranking.log_probs_by_rank(ranked), axis=1)
        num_best = ranking.largest_rank(joint > self.log_tau)
        return ranking.select_top(ranked, num_best)


class FcombThresh(_ThresholdRule):
    """Unmasks the largest top-ranked set that is likely while the rest is not.

    Kreutzer et al. (2020), section 3.2, "fcomb-thresh": the k best, k the
    largest integer with `p(Y) * (1 - p(rest)) > tau`, and at least one. The
    rest of all candidates is empty, its probability 1, and so the last
    candidate of a row only comes as that at least one.

    >>> log_probs = tf.math.log([[0.9, 0.5, 0.8, 0.9]])
    >>> everywhere = log_probs < 0
    >>> FcombThresh(0.4)(log_probs, everywhere, everywhere, 1).numpy().tolist()
    [[True, False, False, True]]
    """

    name = "fcomb_thresh"
    grid = (0.95, 0.7, 0.45, 0.3, 0.15, 0.06, 0.02, 6e-3, 1e-3, 1e-5, 1e-8, 1e-13)

    def __call__(self, log_probs, candidates, valid, iteration) -> tf.Tensor:
        """Selects the positions; see `Heuristic`."""
        ranked = ranking.rank(log_probs, candidates)
        by_rank = ranking.log_probs_by_rank(ranked)
        is_candidate = tf.sequence_mask(ranked.num_candidates, tf.shape(by_rank)[1])
        factors = tf.where(is_candidate, by_rank, 0.0)
        joint = tf.cumsum(by_rank, axis=1)
        rest = tf.cumsum(factors, axis=1, exclusive=True, reverse=True)
        criterion = joint + tf.math.log(-tf.math.expm1(rest))
        num_best = ranking.largest_rank(criterion > self.log_tau)
        return ranking.select_top(ranked, num_best)


def _select_until(
    num_observed: tf.Tensor, ranked: ranking.Ranking, length: tf.Tensor
) -> tf.Tensor:
    """Selects the best candidates up to `num_observed` positions of each row."""
    already_observed = length - ranked.num_candidates
    return ranking.select_top(ranked, num_observed - already_observed)


#: Every rule by its name; requests number them in this order.
HEURISTICS: dict[str, type[Heuristic]] = {
    rule.name: rule
    for rule in (MaskPredict, MaskPredictFixedK, Thresh, CombThresh, FcombThresh)
}
