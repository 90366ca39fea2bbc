"""All weights of a model as one argument of a compiled function.

To start a compiled function takes time for each variable that it reads: with the
some 200 of a Transformer, as long as two passes over one sentence.
"""

import functools
import math
from collections.abc import Callable

import keras
import tensorflow as tf


class PackedWeights:
    """A copy of a model's weights, one vector for each dtype.

    Attributes:
        vectors: the copy by dtype, each a variable `[elements]`.
    """

    def __init__(self, model: keras.Model):
        """Copies the weights.

        Args:
            model: with its weights made.
        """
        self._weights: dict[str, list[keras.Variable]] = {}
        for weight in model.weights:
            self._weights.setdefault(weight.dtype, []).append(weight)
        self.vectors = {
            dtype: tf.Variable(_vector(weights), trainable=False)
            for dtype, weights in self._weights.items()
        }

    def copy(self) -> None:
        """Copies the weights again, after they were changed."""
        for dtype, weights in self._weights.items():
            self.vectors[dtype].assign(_vector(weights))

    def bind(self, function: Callable) -> Callable:
        """Returns the same function, for which the model has the copied weights.

        As a graph it reads the vectors and none of the model's variables.

        Args:
            function: computes with the model.
        """

        @functools.wraps(function)
        def bound(*args, **kwargs):
            with keras.StatelessScope(state_mapping=self._values()):
                return function(*args, **kwargs)

        return bound

    def _values(self) -> list[tuple[keras.Variable, tf.Tensor]]:
        values = []
        for dtype, weights in self._weights.items():
            sizes = [math.prod(weight.shape) for weight in weights]
            parts = tf.split(tf.convert_to_tensor(self.vectors[dtype]), sizes)
            values += [
                (weight, tf.reshape(part, weight.shape))
                for weight, part in zip(weights, parts, strict=True)
            ]
        return values


def _vector(weights: list[keras.Variable]) -> tf.Tensor:
    return tf.concat([tf.reshape(weight.value, [-1]) for weight in weights], axis=0)
