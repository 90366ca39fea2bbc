"""The optimizer of teacher and student."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf

from cmlm_tf.modeling.packed_weights import from_vector, to_vector
from cmlm_tf.training.distribution import assign


class AdamState(NamedTuple):
    """What an update changes.

    Attributes:
        step: int scalar, updates done.
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


class Adam(keras.optimizers.Optimizer):
    """Adam (Kingma & Ba, 2015) with clipping and moving averages of the weights.

    It works on vectors that hold all weights one after the other: a few
    operations on long vectors instead of a few for each of hundreds of weights,
    which take longer to launch than to run. An update is a function of the state
    and a gradient; several can follow each other before the variables are written.
    """

    def __init__(
        self,
        learning_rate: keras.optimizers.schedules.LearningRateSchedule,
        beta_1: float,
        beta_2: float,
        epsilon: float,
        clip_norm: float,
        average_decay: float,
    ):
        """Sets the constants.

        Args:
            learning_rate: its schedule.
            beta_1: decay of the gradient's mean.
            beta_2: decay of the mean of its square.
            epsilon: added to the square's root.
            clip_norm: most that the gradient's norm may be.
            average_decay: of the moving averages; the first update sets them.
        """
        super().__init__(learning_rate)
        self._schedule = learning_rate
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.clip_norm, self.average_decay = clip_norm, average_decay

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Makes room for the weights' moments and averages."""
        super().build(variables)
        self._weights = list(variables)
        size = sum(math.prod(weight.shape) for weight in variables)
        self._mean, self._square, self._average = (
            self.add_variable([size], dtype="float32", name=name)
            for name in ("mean", "square", "average")
        )

    @property
    def averages(self) -> list[tf.Tensor]:
        """The moving averages of the weights, in the order of the weights."""
        return from_vector(tf.convert_to_tensor(self._average), self._weights)

    def read_state(self) -> AdamState:
        """Returns what the variables hold."""
        return AdamState(
            tf.convert_to_tensor(self.iterations),
            to_vector(self._weights),
            tf.convert_to_tensor(self._mean),
            tf.convert_to_tensor(self._square),
            tf.convert_to_tensor(self._average),
        )

    def write_state(self, state: AdamState) -> None:
        """Writes the variables; call it in every replica."""
        weights = from_vector(state.weights, self._weights)
        assign(
            [
                self.iterations,
                *self._weights,
                self._mean,
                self._square,
                self._average,
            ],
            [state.step, *weights, state.mean, state.square, state.average],
        )

    def next_state(self, state: AdamState, gradient: tf.Tensor) -> AdamState:
        """Returns the state after one more update.

        Args:
            state: before it.
            gradient: float32 `[weights]`, that of the whole global batch.
        """
        norm = tf.norm(gradient)
        gradient *= self.clip_norm / tf.maximum(norm, self.clip_norm)
        mean = self.beta_1 * state.mean + (1 - self.beta_1) * gradient
        square = self.beta_2 * state.square + (1 - self.beta_2) * gradient**2
        updates = tf.cast(state.step + 1, tf.float32)
        # The moments' bias, as at the end of the article's section 2.
        bias = tf.sqrt(1 - self.beta_2**updates) / (1 - self.beta_1**updates)
        rate = self._schedule(state.step) * bias
        weights = state.weights - rate * mean / (tf.sqrt(square) + self.epsilon)
        decay = tf.where(state.step == 0, 0.0, self.average_decay)
        average = decay * state.average + (1 - decay) * weights
        return AdamState(state.step + 1, weights, mean, square, average)
