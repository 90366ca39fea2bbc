"""The optimizer of teacher and student."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.packed_weights import from_vector, to_vector
from cmlm_tf.training.distribution import assign

#: Of Vaswani et al. (2017), section 5.3.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.98, 1e-9


class AdamState(NamedTuple):
    """What an update changes.

    Attributes:
        step: int64 scalar, updates done.
        weights: float32 `[weights]`, all of the model one after the other.
        mean: of the gradients, like the weights.
        square: mean of the gradients' squares, like the weights.
        average: of the weights, like them.
    """

    step: tf.Tensor
    weights: tf.Tensor
    mean: tf.Tensor
    square: tf.Tensor
    average: tf.Tensor


class Adam:
    """Adam (Kingma & Ba, 2015) with clipping and moving averages of the weights.

    It works on vectors that hold all weights one after the other: a few
    operations on long vectors instead of a few for each of hundreds of weights,
    which take longer to launch than to run. An update is a function of the state
    and a gradient; several can follow each other before the variables are written.

    Attributes:
        step: a variable, updates done.
        variables: all that an update changes, the weights among them.
    """

    def __init__(
        self,
        weights: Sequence[keras.Variable],
        schedule: Callable[[tf.Tensor], tf.Tensor],
        clip_norm: float,
        average_decay: float,
    ):
        """Makes room for the weights' moments and averages.

        Args:
            weights: what is trained.
            schedule: maps the number of updates done to the rate of the next.
            clip_norm: most that the gradient's norm may be.
            average_decay: of the moving averages; the first update sets them.
        """
        self._weights, self._schedule = list(weights), schedule
        self._clip_norm, self._average_decay = clip_norm, average_decay
        size = sum(math.prod(weight.shape) for weight in weights)
        self.step = keras.Variable(0, dtype="int64", trainable=False, name="step")
        vectors = [
            keras.Variable("zeros", [size], "float32", trainable=False, name=name)
            for name in ("mean", "square", "average")
        ]
        self.variables = [self.step, *self._weights, *vectors]

    @property
    def averages(self) -> list[tf.Tensor]:
        """The moving averages of the weights, in the order of the weights."""
        return from_vector(tf.convert_to_tensor(self.variables[-1]), self._weights)

    @property
    def learning_rate(self) -> float:
        """Of the next update, before the moments' bias."""
        return float(self._schedule(self.step.value))

    def read_state(self) -> AdamState:
        """Returns what the variables hold."""
        vectors = map(tf.convert_to_tensor, self.variables[-3:])
        return AdamState(
            tf.convert_to_tensor(self.step), to_vector(self._weights), *vectors
        )

    def write_state(self, state: AdamState) -> None:
        """Writes the variables; call it in every replica."""
        step, weights, *vectors = state
        assign(self.variables, [step, *from_vector(weights, self._weights), *vectors])

    def next_state(self, state: AdamState, gradient: tf.Tensor) -> AdamState:
        """Returns the state after one more update.

        Args:
            state: before it.
            gradient: float32 `[weights]`, that of the whole global batch.
        """
        norm = tf.norm(gradient)
        gradient *= self._clip_norm / tf.maximum(norm, self._clip_norm)
        mean = _BETA_1 * state.mean + (1 - _BETA_1) * gradient
        square = _BETA_2 * state.square + (1 - _BETA_2) * gradient**2
        updates = tf.cast(state.step + 1, tf.float32)
        # The moments' bias, as at the end of the article's section 2.
        bias = tf.sqrt(1 - _BETA_2**updates) / (1 - _BETA_1**updates)
        rate = self._schedule(state.step) * bias
        weights = state.weights - rate * mean / (tf.sqrt(square) + _EPSILON)
        decay = tf.where(state.step == 0, 0.0, self._average_decay)
        average = decay * state.average + (1 - decay) * weights
        return AdamState(state.step + 1, weights, mean, square, average)
