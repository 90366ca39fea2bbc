"""The optimizer of teacher and student."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf


class Adam(keras.optimizers.Optimizer):
    """Adam (Kingma & Ba, 2015) with clipping and moving averages of the weights.

    It works on vectors that hold all weights one after the other: a few
    operations on long vectors instead of a few for each of hundreds of weights,
    which take longer to launch than to run, and one sum over replicas instead
    of hundreds. The norm that is clipped is that of the whole global batch's
    gradient.
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule,
        beta_1: float,
        beta_2: float,
        epsilon: float,
        clip_norm: float,
        average_decay: float,
        jit_compile: bool = False,
    ):
        """Sets the constants.

        Args:
            learning_rate: or its schedule.
            beta_1: decay of the gradient's mean.
            beta_2: decay of the mean of its square.
            epsilon: added to the square's root.
            clip_norm: most that the gradient's norm may be.
            average_decay: of the moving averages; the first update sets them.
            jit_compile: whether XLA compiles the arithmetic.
        """
        super().__init__(learning_rate)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.clip_norm, self.average_decay = clip_norm, average_decay
        self._next = tf.function(
            self._next_vectors, jit_compile=jit_compile, autograph=False
        )

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Makes room for the weights' moments and averages."""
        super().build(variables)
        self._weights = list(variables)
        self._sizes = [math.prod(weight.shape) for weight in variables]
        self._mean, self._square, self._average = (
            self.add_variable([sum(self._sizes)], dtype="float32", name=name)
            for name in ("mean", "square", "average")
        )

    @property
    def averages(self) -> list[tf.Tensor]:
        """The moving averages of the weights, in the order of the weights."""
        return self._split(self._average.value)

    def update(self, gradients: Sequence[tf.Tensor]) -> None:
        """Updates all weights, moments and averages; call it in every replica.

        Args:
            gradients: of each weight, this replica's share; the shares are
                added up.
        """
        context = tf.distribute.get_replica_context()
        gradient = context.all_reduce(tf.distribute.ReduceOp.SUM, _join(gradients))
        context.merge_call(self._update_all_devices, args=(gradient,))
        self.iterations.assign_add(1)

    def _update_all_devices(self, strategy, gradient):
        strategy.extended.update(
            self._mean.value, self._update_device, args=(gradient,)
        )

    def _update_device(self, mean, gradient):
        state = _Vectors(
            _join(self._weights),
            tf.convert_to_tensor(mean),
            tf.convert_to_tensor(self._square.value),
            tf.convert_to_tensor(self._average.value),
        )
        step = self.iterations.value
        state = self._next(state, gradient, step, self.learning_rate)
        for weight, value in zip(
            self._weights, self._split(state.weights), strict=True
        ):
            weight.value.assign(value)
        mean.assign(state.mean)
        self._square.value.assign(state.square)
        self._average.value.assign(state.average)

    def _next_vectors(self, state: "_Vectors", gradient, step, rate) -> "_Vectors":
        norm = tf.norm(gradient)
        gradient *= self.clip_norm / tf.maximum(norm, self.clip_norm)
        mean = self.beta_1 * state.mean + (1 - self.beta_1) * gradient
        square = self.beta_2 * state.square + (1 - self.beta_2) * gradient**2
        updates = tf.cast(step + 1, tf.float32)
        # The moments' bias, as at the end of the article's section 2.
        rate *= tf.sqrt(1 - self.beta_2**updates) / (1 - self.beta_1**updates)
        weights = state.weights - rate * mean / (tf.sqrt(square) + self.epsilon)
        decay = tf.where(step == 0, 0.0, self.average_decay)
        average = decay * state.average + (1 - decay) * weights
        return _Vectors(weights, mean, square, average)

    def _split(self, vector: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.reshape(part, weight.shape)
            for part, weight in zip(
                tf.split(vector, self._sizes), self._weights, strict=True
            )
        ]


class _Vectors(NamedTuple):
    """Weights, moments and averages, each float32 [weights]."""

    weights: tf.Tensor
    mean: tf.Tensor
    square: tf.Tensor
    average: tf.Tensor


def _join(values: Sequence[tf.Tensor | keras.Variable]) -> tf.Tensor:
    return tf.concat([tf.reshape(value, [-1]) for value in values], 0)
