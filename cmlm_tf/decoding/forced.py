"""Scores a given target by the order in which the model would have written it."""

from collections.abc import Callable

import tensorflow as tf

from cmlm_tf.decoding.loop import HeuristicFn

ForcedPredictFn = Callable[
    [tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor, tf.Tensor]
]


class Forced:
    """Writes given tokens where the heuristic would have the model's choice.

    Which positions a pass unmasks depends on the probabilities of the model's
    best tokens, not on those of the given ones. So the order of writing is a
    function of what is already written, and the probabilities of the tokens
    multiply to a factorisation of the whole target's: over all targets of one
    length they sum to one. Where the given target is the model's own output,
    it gets the score with which it was written.

    Needs `UpdateMaskedSub`, under which every candidate is predicted anew.
    """

    def __init__(self, predict_fn: ForcedPredictFn):
        """Wraps the model.

        Args:
            predict_fn: as the loop's, but returns the given ids, their natural
                log-probabilities and those of the most probable tokens.
        """
        self._predict_fn = predict_fn
        self._best: tf.Tensor | None = None

    def predict(
        self, input_ids: tf.Tensor, wanted: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the given ids and their log-probabilities, as the loop asks."""
        ids, log_probs, self._best = self._predict_fn(input_ids, wanted)
        return ids, log_probs

    def heuristic(self, choose: HeuristicFn) -> HeuristicFn:
        """Returns `choose` on the most probable tokens of the same pass."""
        return lambda _, *others: choose(self._best, *others)
