"""Unmasking heuristics: which candidates become observed after a pass.

Kreutzer et al. (2020), section 3.2. Every rule ranks the candidates of a row by
the model's log-probability, decides how many of the best to unmask, and unmasks
those. Ties go to the leftmost position, and a row that has candidates always
gets at least one of them unmasked, so that decoding makes progress.

A rule is one class: `num_best` is the rule, its class attributes are what flags,
options, calibration, sweeps and serving know of it. A new one needs a line in
`HEURISTICS`.
"""

import abc
import dataclasses
import math
import numbers
from typing import Any, ClassVar, TypeAlias

import tensorflow as tf

from cmlm_tf.decoding import ranking
from cmlm_tf.decoding.ranking import Ranking

Tensor: TypeAlias = tf.Tensor
Number: TypeAlias = int | float | Tensor

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

    def __call__(
        self, log_probs: Tensor, candidates: Tensor, valid: Tensor, iteration: Number
    ) -> Tensor:
        """Selects the positions that become observed.

        Args:
            log_probs: float32 `[rows, length]`, natural log-probability of the
                token at each position, may be -inf; ignored where not `candidates`.
            candidates: bool `[rows, length]`, True at the positions to choose from.
            valid: bool `[rows, length]`, True where not padding.
            iteration: int32 scalar, 1 in the first pass.

        Returns:
            bool `[rows, length]`, True where a position becomes observed: a subset
            of `candidates`, empty exactly in rows without candidates.
        """
        ranked = ranking.rank(log_probs, candidates)
        num_best = self.num_best(ranked, ranking.count_true(valid), iteration)
        return ranking.select_top(ranked, num_best)

    @abc.abstractmethod
    def num_best(self, ranked: Ranking, length: Tensor, iteration: Number) -> Tensor:
        """Decides how many of the best candidates to unmask: the rule.

        Args:
            ranked: the candidates of each row, best first.
            length: int32 `[rows]`, N, the valid positions; those that are no
                candidates are observed.
            iteration: int32 scalar, t, 1 in the first pass.

        Returns:
            int32 `[rows]`; where it is less than one, one is unmasked.
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
        wanted = whole if cls.is_whole else f"from {low} to {high}"
        return f"{cls.setting_name()} must be {wanted}"

    @classmethod
    def check(cls, setting: Any) -> None:
        """Raises a `ValueError` unless a Python number can be the setting.

        >>> CombThresh.check(0.1)
        >>> CombThresh.check(1.5)
        Traceback (most recent call last):
        ValueError: comb_thresh: tau must be from 0 to 1, not 1.5
        """
        low, high = cls.limits
        is_number = isinstance(setting, numbers.Real)
        fits = is_number and low <= setting <= high
        if not fits or (cls.is_whole and setting % 1):
            raise ValueError(f"{cls.name}: {cls.requirement()}, not {setting!r}")

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
    >>> MaskPredict(3)(log_probs, log_probs < 0, log_probs < 0, 1).numpy().tolist()
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
    grid = (40, 20, 15, 10, 8, 7, 6, 5, 4, 3, 2, 1)

    def num_best(self, ranked: Ranking, length: Tensor, iteration: Number) -> Tensor:
        """`min(N, t * ceil(N / T))` positions are observed then."""
        total = tf.cast(self.num_iterations, tf.int32)
        if self.floor_schedule:
            num_observed = length - length * (total - iteration) // total
        else:
            num_observed = iteration * ((length + total - 1) // total)
        return num_observed - (length - ranked.num_candidates)

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
    >>> rule, valid = MaskPredictFixedK(3), log_probs < 0
    >>> rule(log_probs, valid, valid, 1).numpy().tolist()
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

    def num_best(self, ranked: Ranking, length: Tensor, iteration: Number) -> Tensor:
        """`min(N, t * K)` positions are observed then."""
        # Cut to the length first: a huge K would overflow in the product.
        step = tf.minimum(tf.cast(self.tokens_per_iteration, tf.int32), length)
        return iteration * step - (length - ranked.num_candidates)


@dataclasses.dataclass(frozen=True)
class _Threshold(Heuristic):
    """A rule that compares probabilities with tau, a scalar or `[rows]`, 0 to 1."""

    tau: Number
    symbol = "tau"
    limits = (0, 1)
    default = 0.1

    @property
    def log_tau(self) -> Tensor:
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


class Thresh(_Threshold):
    """Unmasks every candidate with a probability above tau.

    Kreutzer et al. (2020), section 3.2, "thresh": all tokens with `p > tau`,
    the single best one in rows where no token has.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.5]])
    >>> Thresh(0.5)(log_probs, log_probs < 0, log_probs < 0, 1).numpy().tolist()
    [[True, False, True, False]]
    """

    name = "thresh"
    grid = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.45, 0.3, 0.2, 0.1)

    def num_best(self, ranked: Ranking, length: Tensor, iteration: Number) -> Tensor:
        """As many as have `p > tau`."""
        return ranking.count_true(ranked.log_probs > self.log_tau)


class CombThresh(_Threshold):
    """Unmasks the largest top-ranked set with joint probability above tau.

    Kreutzer et al. (2020), section 3.2, "comb-thresh": the k best, k the
    largest integer with `p_1 * ... * p_k > tau`, and at least one.

    >>> log_probs = tf.math.log([[0.9, 0.2, 0.6, 0.8]])
    >>> CombThresh(0.5)(log_probs, log_probs < 0, log_probs < 0, 1).numpy().tolist()
    [[True, False, False, True]]
    """

    name = "comb_thresh"
    grid = (0.95, 0.7, 0.45, 0.3, 0.15, 0.06, 0.02, 6e-3, 1.5e-3, 3e-4, 3e-5, 1e-6)

    def num_best(self, ranked: Ranking, length: Tensor, iteration: Number) -> Tensor:
        """The largest k with `p_1 * ... * p_k > tau`."""
        joint = tf.cumsum(ranked.log_probs, axis=1)
        return ranking.largest_rank(joint > self.log_tau)


class FcombThresh(_Threshold):
    """Unmasks the largest top-ranked set that is likely while the rest is not.

    Kreutzer et al. (2020), section 3.2, "fcomb-thresh": the k best, k the
    largest integer with `p(Y) * (1 - p(rest)) > tau`, and at least one. The
    rest of all candidates is empty, its probability 1, and so the last
    candidate of a row only comes as that at least one.

    >>> log_probs = tf.math.log([[0.9, 0.5, 0.8, 0.9]])
    >>> FcombThresh(0.4)(log_probs, log_probs < 0, log_probs < 0, 1).numpy().tolist()
    [[True, False, False, True]]
    """

    name = "fcomb_thresh"
    grid = (0.95, 0.7, 0.45, 0.3, 0.15, 0.06, 0.02, 6e-3, 1e-3, 1e-5, 1e-8, 1e-13)

    def num_best(self, ranked: Ranking, length: Tensor, iteration: Number) -> Tensor:
        """The largest k with `p(Y) * (1 - p(rest)) > tau`."""
        by_rank = ranked.log_probs
        is_candidate = tf.sequence_mask(ranked.num_candidates, tf.shape(by_rank)[1])
        factors = tf.where(is_candidate, by_rank, 0.0)
        joint = tf.cumsum(by_rank, axis=1)
        rest = tf.cumsum(factors, axis=1, exclusive=True, reverse=True)
        criterion = joint + tf.math.log(-tf.math.expm1(rest))
        return ranking.largest_rank(criterion > self.log_tau)


#: Every rule by its name; requests number them in this order.
HEURISTICS: dict[str, type[Heuristic]] = {
    rule.name: rule
    for rule in (MaskPredict, MaskPredictFixedK, Thresh, CombThresh, FcombThresh)
}
