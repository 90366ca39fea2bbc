"""Update strategies: what a pass may rewrite, and what may be masked after it.

Kreutzer et al. (2020), section 3.1. A strategy is two masks. `rewritable` are
the positions whose token and score a pass may change; `candidates` are those
that may be masked after it, among which a heuristic chooses what to unmask.
"""

import dataclasses
from typing import ClassVar

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class UpdateStrategy:
    """What the loop asks of a strategy.

    Both masks are of `mask`, bool `[rows, length]`, True where masked before the
    pass, and `valid`, bool `[rows, length]`, True where not padding, a superset of
    `mask`; both are a bool `[rows, length]` subset of `valid`.

    Attributes:
        rewrites_observed: whether a pass may change an observed token too.
        masks_observed: whether an observed position may be masked again.
    """

    rewrites_observed: ClassVar[bool] = False
    masks_observed: ClassVar[bool] = False

    def rewritable(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the positions whose token and score the pass may change."""
        return valid if self.rewrites_observed else mask

    def candidates(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the positions that may be masked after the pass."""
        return valid if self.masks_observed else mask


class UpdateAll(UpdateStrategy):
    """update-all: rewrites every position, masks any.

    >>> mask = tf.constant([True, False, False])
    >>> valid = tf.constant([True, True, False])
    >>> UpdateAll().rewritable(mask, valid).numpy().tolist()
    [True, True, False]
    """

    rewrites_observed = True
    masks_observed = True


class UpdateMasked(UpdateStrategy):
    """update-masked: rewrites the masked positions, masks any.

    The strategy of Ghazvininejad et al. (2019).

    >>> mask = tf.constant([True, False, False])
    >>> valid = tf.constant([True, True, False])
    >>> UpdateMasked().rewritable(mask, valid).numpy().tolist()
    [True, False, False]
    >>> UpdateMasked().candidates(mask, valid).numpy().tolist()
    [True, True, False]
    """

    masks_observed = True


class UpdateMaskedSub(UpdateStrategy):
    """update-masked-sub: rewrites the masked positions, masks no other.

    The only strategy that is sure to end by itself, and the one under which the
    tokens' probabilities multiply to a factorisation of the whole sequence's.

    >>> mask = tf.constant([True, False, False])
    >>> valid = tf.constant([True, True, False])
    >>> UpdateMaskedSub().candidates(mask, valid).numpy().tolist()
    [True, False, False]
    """


#: Every strategy by the name that flags and configs give it.
STRATEGIES: dict[str, type[UpdateStrategy]] = {
    "update_all": UpdateAll,
    "update_masked": UpdateMasked,
    "update_masked_sub": UpdateMaskedSub,
}
