"""Update strategies: what a pass may rewrite, and what may be masked after it.

Kreutzer et al. (2020), section 3.1. A strategy is two masks. `rewritable` are
the positions whose token and score a pass may change; `candidates` are those
that may be masked after it, among which a heuristic chooses what to unmask.

Both take `mask`, bool `[rows, length]`, True where masked before the pass, and
`valid`, bool `[rows, length]`, True where not padding, a superset of `mask`;
both return a bool `[rows, length]` subset of `valid`.
"""

import dataclasses
from typing import Protocol

import tensorflow as tf


class UpdateStrategy(Protocol):
    """What the loop asks of a strategy."""

    def rewritable(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the positions whose token and score the pass may change."""

    def candidates(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the positions that may be masked after the pass."""


@dataclasses.dataclass(frozen=True)
class UpdateAll:
    """update-all: rewrites every position, masks any.

    >>> mask = tf.constant([True, False, False])
    >>> valid = tf.constant([True, True, False])
    >>> UpdateAll().rewritable(mask, valid).numpy().tolist()
    [True, True, False]
    >>> UpdateAll().candidates(mask, valid).numpy().tolist()
    [True, True, False]
    """

    def rewritable(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns every valid position."""
        del mask
        return valid

    def candidates(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns every valid position."""
        del mask
        return valid


@dataclasses.dataclass(frozen=True)
class UpdateMasked:
    """update-masked: rewrites the masked positions, masks any.

    The strategy of Ghazvininejad et al. (2019).

    >>> mask = tf.constant([True, False, False])
    >>> valid = tf.constant([True, True, False])
    >>> UpdateMasked().rewritable(mask, valid).numpy().tolist()
    [True, False, False]
    >>> UpdateMasked().candidates(mask, valid).numpy().tolist()
    [True, True, False]
    """

    def rewritable(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the masked positions."""
        del valid
        return mask

    def candidates(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns every valid position."""
        del mask
        return valid


@dataclasses.dataclass(frozen=True)
class UpdateMaskedSub:
    """update-masked-sub: rewrites the masked positions, masks no other.

    The only strategy that is sure to end by itself, and the one under which the
    tokens' probabilities multiply to a factorisation of the whole sequence's.

    >>> mask = tf.constant([True, False, False])
    >>> valid = tf.constant([True, True, False])
    >>> UpdateMaskedSub().rewritable(mask, valid).numpy().tolist()
    [True, False, False]
    >>> UpdateMaskedSub().candidates(mask, valid).numpy().tolist()
    [True, False, False]
    """

    def rewritable(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the masked positions."""
        del valid
        return mask

    def candidates(self, mask: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns the masked positions."""
        del valid
        return mask


#: Every strategy by the name that flags and configs give it.
STRATEGIES: dict[str, type[UpdateStrategy]] = {
    "update_all": UpdateAll,
    "update_masked": UpdateMasked,
    "update_masked_sub": UpdateMaskedSub,
}
