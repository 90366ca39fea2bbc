"""Another heuristic for each row, in one loop."""

import dataclasses

import tensorflow as tf

from cmlm_tf.decoding.heuristics import HEURISTICS, Number


@dataclasses.dataclass(frozen=True)
class RowwiseHeuristic:
    """The rules of `HEURISTICS`, each in the rows that ask for it.

    Attributes:
        rules: int32 `[rows]`, numbers of rules in the order of `HEURISTICS`.
        settings: float32 `[rows]`, each row's T, K or tau.
    """

    rules: tf.Tensor
    settings: tf.Tensor

    def __call__(
        self,
        log_probs: tf.Tensor,
        candidates: tf.Tensor,
        valid: tf.Tensor,
        iteration: Number,
    ) -> tf.Tensor:
        """Selects the positions that become observed; see `Heuristic`."""
        selected = tf.zeros_like(candidates)
        for number, rule in enumerate(HEURISTICS.values()):
            asked = self.rules == number
            # Other rules' settings may be none of this one.
            settings = tf.where(asked, self.settings, float(rule.default))
            choice = rule(settings)(log_probs, candidates, valid, iteration)
            selected |= choice & asked[:, tf.newaxis]
        return selected
